import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { getSystemErrorMessage } from 'node:util'
import { StartupError } from '@warder/base'

/** Windows protects the folder of a user by access control lists, which Node does not expose. */
const hasOwners = process.platform !== 'win32'

/**
 * Reads a file that only this user can read and write.
 * @returns undefined when it does not exist
 * @throws StartupError for a link, a file of another user, a file with access for others, or one that is too long
 */
export function readPrivateFile(path: string, maxBytes: number): string | undefined {
  if (!isPrivateFolder(dirname(path))) return undefined
  let file: number
  try {
    // Links are not followed, because a link could be changed between the check and the read.
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT') return undefined
    if (getErrorCode(error) === 'ELOOP')
      throw new StartupError(`${path} is a link, which is not accepted: remove it`)
    throw new StartupError(`${path}: ${describeError(error)}`, { cause: error })
  }
  try {
    const found = fstatSync(file)
    if (!found.isFile())
      throw new StartupError(`${path} is not a regular file, and is not accepted: remove it`)
    requireOwn(path, found, 0o077)
    const bytes = Buffer.alloc(maxBytes + 1)
    let length = 0
    for (let read = 1; read > 0 && length <= maxBytes; length += read)
      read = readSync(file, bytes, length, bytes.length - length, null)
    if (length > maxBytes) throw new StartupError(`${path} is too large, and is not accepted: remove it`)
    return bytes.toString('utf8', 0, length)
  } finally {
    closeSync(file)
  }
}

/** Writes a file atomically with mode 0600; creates its folder with mode 0700. @throws StartupError */
export function writePrivateFile(path: string, content: string): void {
  const folder = dirname(path)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new StartupError(`${folder} cannot be created: ${describeError(error)}`, { cause: error })
  }
  isPrivateFolder(folder)
  removeUnfinished(path)
  const fresh = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    const file = openSync(fresh, 'wx', 0o600)
    try {
      // writeFileSync writes everything; a single write may be partial on an almost full disk.
      writeFileSync(file, content)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(fresh, path)
  } catch (error) {
    removePrivateFile(fresh)
    throw new StartupError(`${path} cannot be written: ${describeError(error)}`, { cause: error })
  }
}

/** Removes the remains of a killed write, which may contain a token. A running write takes less than a minute. */
function removeUnfinished(path: string): void {
  const [folder, name] = [dirname(path), basename(path)]
  const before = Date.now() - 60_000
  for (const found of readdirSync(folder)) {
    if (!found.startsWith(`${name}.`) || !found.endsWith('.new')) continue
    const unfinished = join(folder, found)
    const { mtimeMs = Date.now() } = lstatSync(unfinished, { throwIfNoEntry: false }) ?? {}
    if (mtimeMs < before) rmSync(unfinished, { force: true })
  }
}

/** Removes the file and the remains of writes. @throws StartupError when it cannot be removed */
export function removePrivateFile(path: string): void {
  if (existsSync(dirname(path))) removeUnfinished(path)
  try {
    unlinkSync(path)
  } catch (error) {
    if (getErrorCode(error) !== 'ENOENT')
      throw new StartupError(`${path} cannot be removed: ${describeError(error)}`, { cause: error })
  }
}

/** @returns false when it does not exist @throws StartupError when others can write to it */
export function isPrivateFolder(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return false
  if (!found.isDirectory()) throw new StartupError(`${path} is not a folder, and is not accepted: remove it`)
  requireOwn(path, found, 0o022)
  return true
}

function requireOwn(path: string, { uid, mode }: Stats, forbidden: number): void {
  if (!hasOwners) return
  if (uid !== process.getuid?.())
    throw new StartupError(`${path} belongs to another user, and is not accepted: log in with your own home`)
  if ((mode & forbidden) !== 0) {
    const shown = (mode & 0o777).toString(8).padStart(4, '0')
    const right = forbidden === 0o077 ? '600' : '700'
    throw new StartupError(
      `${path} is accessible to other users (mode ${shown}), and is not accepted: run chmod ${right} on it, and warder logout if others may have read it`,
    )
  }
}

function getErrorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}

/** Describes an error, such as `no space left on device`. */
function describeError(error: unknown): string {
  const { errno } = error as NodeJS.ErrnoException
  return errno === undefined ? getErrorCode(error) : getSystemErrorMessage(errno)
}
