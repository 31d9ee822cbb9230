import { createPublicKey, type KeyObject } from 'node:crypto'
import {
  closeSync,
  createReadStream,
  existsSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { StartupError } from '@warder/base'
import { computeFingerprint } from '../installation/signing-key.ts'
import { isOutside } from './backup-sources.ts'
import { type CollectOptions, collect } from './collect.ts'
import { hashStream } from './digest.ts'
import { BackupRefused, compressLines, readLines } from './lines.ts'
import { firstBytes, openStream, sealStream } from './sealed-stream.ts'
import { addEphemeralRecipient, type Recipients } from './wrapped-keys.ts'

export interface BackupSummary {
  readonly bytes: number
  /** SHA-256 of the file, in lower-case hexadecimal digits. */
  readonly digest: string
  readonly files: number
  readonly rows: number
}

const thisHost = hostname().replaceAll('.', '_')
/** A partial file of another host that has not changed for so long is stale. */
const staleAfterMs = 3_600_000

/**
 * Writes a backup under a temporary name, reads it back and renames it.
 * @throws StartupError when the file exists, or cannot be read back
 */
export async function writeBackup(
  options: CollectOptions,
  recipients: Recipients,
  path: string,
  signer: KeyObject,
): Promise<BackupSummary> {
  requireNew(path)
  requireOutside(options.home, path)
  removeLeftovers(dirname(resolve(path)), options.now)
  const part = `${path}.${thisHost}-${process.pid}.part`
  const file = await open(part, 'wx', 0o600)
  try {
    let bytes = 0
    const own = addEphemeralRecipient(recipients)
    try {
      for await (const chunk of sealStream(compressLines(collect(options)), own.recipients, signer)) {
        options.signal?.throwIfAborted()
        await file.writeFile(chunk)
        bytes += chunk.length
      }
      await file.sync()
    } finally {
      await file.close()
    }
    const found = await readBack(part, own, computeFingerprint(createPublicKey(signer)))
    publishFile(part, path)
    await syncFolder(dirname(resolve(path)))
    return { bytes, ...found }
  } finally {
    rmSync(part, { force: true })
  }
}

/** @throws StartupError when the file exists */
export function requireNew(path: string): void {
  if (existsSync(path))
    throw new StartupError(`${path} already exists, and a backup overwrites nothing: use another name`)
}

/** A backup in the home would be lost with it, and would be part of the next backup. */
export function requireOutside(home: string, path: string): void {
  const folder = dirname(resolve(path))
  if (existsSync(folder) && existsSync(home) && !isOutside(realpathSync(home), realpathSync(folder)))
    throw new StartupError(
      `${path} is inside the home that is backed up: use a file outside it, preferably on another disk`,
    )
}

/** Gives the file its final name, unless that exists meanwhile; the temporary name may remain. */
export function publishFile(part: string, path: string): void {
  try {
    linkSync(part, path)
  } catch (error) {
    requireNew(path)
    // The file system does not support hard links.
    if (!['EPERM', 'ENOTSUP', 'ENOSYS', 'EINVAL'].includes(String((error as NodeJS.ErrnoException).code)))
      throw error
    renameSync(part, path)
  }
}

/** Removes partial files of killed backups. */
function removeLeftovers(folder: string, now: number): void {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) {
    const [, host, pid] = /\.([^./]+)-(\d+)\.part$/.exec(name) ?? []
    if (host === undefined) continue
    const path = join(folder, name)
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined || !found.isFile()) continue
    const isStale = host === thisHost ? !isAlive(Number(pid)) : now - found.mtimeMs > staleAfterMs
    if (isStale && isBackup(path)) rmSync(path, { force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Whether a file begins like a backup, as far as it goes. */
export function isBackup(path: string): boolean {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch {
    // The file belongs to another user, or is gone.
    return false
  }
  try {
    const begin = Buffer.alloc(firstBytes.length)
    const length = readSync(file, begin)
    // A killed backup may have left an empty file.
    return begin.subarray(0, length).equals(firstBytes.subarray(0, length))
  } finally {
    closeSync(file)
  }
}

export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** @throws BackupRefused when the file is incomplete */
async function readBack(
  path: string,
  { unlock }: ReturnType<typeof addEphemeralRecipient>,
  expectedSender: string,
) {
  let files = 0
  let rows = 0
  let ended = false
  const { bytes, digest } = hashStream(createReadStream(path))
  const requireOwn = async (sender: KeyObject | undefined): Promise<void> => {
    if (sender === undefined || computeFingerprint(sender) !== expectedSender)
      throw new BackupRefused(`${path} is signed by another installation: it was replaced during the backup`)
  }
  for await (const line of readLines(openStream(bytes, unlock, requireOwn))) {
    if (line.kind === 'file' && line.first) files += 1
    if (line.kind === 'rows') rows += line.rows.length
    ended = line.kind === 'end' && line.files === files && line.rows === rows
  }
  if (!ended) throw new BackupRefused(`${path} reads back differently than it was written: check the disk`)
  return { digest: digest(), files, rows }
}
