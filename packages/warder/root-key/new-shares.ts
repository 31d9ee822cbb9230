import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { StartupError, systemClock } from '@warder/base'
import { printable, UsageError, type ValuesOf } from '@warder/command-line'
import { toFileRefused } from '@warder/command-line/files'
import { createShareSet, describeSet, isShareName, type ShareHolder, type ShareSet } from '@warder/storage'

/** Options of the verbs that create shares. */
export const shareOptions = {
  holders: {
    type: 'text',
    value: 'FILE',
    help: 'for shares: one holder per line, NAME and age1… (age-keygen -y key.txt prints it)',
  },
  threshold: { type: 'number', value: 'M', help: 'for shares: number of holders that are needed at a start' },
  output: { type: 'text', value: 'FOLDER', help: 'for shares: folder for their files (default: .)' },
  name: {
    type: 'text',
    value: 'NAME',
    help: 'for shares: name of the installation in each (default: the host name)',
  },
} as const

/** The set that a command creates. */
export interface RequestedShares {
  readonly holdersFile: string
  readonly threshold: number
  readonly output: string
  readonly name: string
}

/** @returns undefined: none of the options is given @throws UsageError when one is missing */
export function readShareOptions(values: ValuesOf<typeof shareOptions>): RequestedShares | undefined {
  const { holders, threshold, output, name } = values
  if ([holders, threshold, output, name].every((value) => value === undefined)) return undefined
  if (holders === undefined || threshold === undefined)
    throw new UsageError('shares need --holders FILE and --threshold M')
  return { holdersFile: holders, threshold, output: output ?? '.', name: name ?? hostname() }
}

/**
 * The file that names the set of an unfinished move, so that the move is continued with the shares that the holders have:
 * the row in a database must not name the public key that another database is encrypted for. Without secrets.
 */
export function pendingSharesPath(home: string): string {
  return join(resolve(home), 'shares.next')
}

/**
 * Creates a set, writes one encrypted file for each holder, and then `shares.next`; after an interruption returns the set
 * of that file.
 * @throws StartupError for holders, a threshold or a folder that cannot be used; nothing depends on the files then
 */
export async function prepareShares(
  home: string,
  request: RequestedShares,
  say: (line: string) => void,
): Promise<ShareSet> {
  const pending = pendingSharesPath(home)
  if (existsSync(pending)) {
    const holders = await readHolders(request.holdersFile)
    const set = JSON.parse(readFileSync(pending, 'utf8')) as ShareSet
    requireSame(set, holders, request, pending)
    say(`  continued with the shares of set ${describeSet(set)}, which were made before`)
    return set
  }
  const set = await writeShares(request, say)
  writeSynced(`${pending}.new`, `${JSON.stringify(set)}\n`)
  renameSync(`${pending}.new`, pending)
  syncFolder(resolve(home))
  return set
}

/**
 * Creates a set, and writes one encrypted file for each holder.
 * @throws StartupError for holders, a threshold or a folder that cannot be used
 */
export async function writeShares(request: RequestedShares, say: (line: string) => void): Promise<ShareSet> {
  const holders = await readHolders(request.holdersFile)
  const { threshold, name: installation } = request
  const { encryptAge, parseAgeRecipient } = await import('@warder/crypto')
  const { set, shares } = await createShareSet({ installation, threshold, holders, now: systemClock.now() })
  mkdirSync(request.output, { recursive: true, mode: 0o700 })
  for (const [index, { name, recipient }] of holders.entries()) {
    const share = `${shares[index]}\n\n${explainShare(set, index)}\n`
    const key = parseAgeRecipient(recipient)
    if (key === undefined) throw new StartupError(`${name} has no recipient`)
    const file = join(request.output, `share-${set.id.slice(0, 8)}-${index + 1}-${toFileName(name)}.age`)
    writeSynced(file, encryptAge(key, Buffer.from(share)))
    say(`  ${file} is for ${printable(name)}`)
  }
  syncFolder(request.output)
  return set
}

/** The move is complete. */
export function forgetPendingShares(home: string): void {
  rmSync(pendingSharesPath(home), { force: true })
  syncFolder(resolve(home))
}

function explainShare(set: ShareSet, index: number): string {
  const { installation, threshold, holders, createdAt } = set
  return [
    `Share ${index + 1} of ${holders.length} of the root key of ${installation}, for ${holders[index]?.name}.`,
    `Set ${describeSet(set)}, made at ${new Date(createdAt).toISOString()}; ${threshold} shares open it.`,
    'Keep it encrypted, as you received it, and enter it at a start: age --decrypt --identity key.txt FILE | warder unseal --url …',
  ].join('\n')
}

/** @throws StartupError for an interrupted move to other shares, which must be finished first */
function requireSame(
  set: ShareSet,
  holders: readonly ShareHolder[],
  { threshold }: RequestedShares,
  pending: string,
): void {
  const toText = (all: readonly ShareHolder[]): string =>
    all.map(({ name, recipient }) => `${name} ${recipient}`).join('\n')
  if (set.threshold === threshold && toText(set.holders) === toText(holders)) return
  throw new StartupError(
    `${pending} is of an interrupted command with other holders (${set.threshold} of ${set.holders.map(({ name }) => name).join(', ')}): run that command again, and then warder root-key rotate with the new ones. Remove the file only if no database is in shares of set ${describeSet(set)} (warder root-key show)`,
  )
}

/** @throws StartupError that names the line */
async function readHolders(file: string): Promise<readonly ShareHolder[]> {
  const { parseAgeRecipient } = await import('@warder/crypto')
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw toFileRefused(error, file)
  }
  const holders: ShareHolder[] = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue
    const [, name = '', recipient = ''] = /^\s*(.*\S)\s+(\S+)\s*$/.exec(line) ?? []
    const where = `${file}, line ${index + 1}`
    if (!isShareName(name))
      throw new StartupError(
        `${where}: must be NAME age1…, with a name of letters, digits, dots, dashes and spaces`,
      )
    if (parseAgeRecipient(recipient) === undefined)
      throw new StartupError(
        `${where}: ${printable(recipient).slice(0, 80)} is not an X25519 recipient of age (age1 and 58 more characters, from age-keygen); keys of plugins and SSH are not supported`,
      )
    holders.push({ name, recipient })
  }
  return holders
}

function toFileName(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}._-]+/gu, '-')
}

/** The file must not exist yet. */
function writeSynced(path: string, text: string): void {
  try {
    const file = openSync(path, path.endsWith('.new') ? 'w' : 'wx', 0o600)
    try {
      writeFileSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw toFileRefused(error, path)
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
