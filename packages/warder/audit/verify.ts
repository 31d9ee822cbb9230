import type { KeyObject } from 'node:crypto'
import { statSync } from 'node:fs'
import {
  type ChainHead,
  type LogKeys,
  noLogKeys,
  readPublicCheckpointKey,
  type TimestampAnchors,
  type VerifyResult,
  verifyAudit,
  verifyTimestamps,
} from '@warder/audit'
import { StartupError } from '@warder/base'
import { type Terminal, UsageError } from '@warder/command-line'
import type { Logs } from './logs.ts'

/** Called when the last line is incomplete, to let a running service finish it. */
export type Wait = () => Promise<void>

/** Bounds the reads of a log whose last line keeps changing. */
const maxReads = 5

/** Prints one line for each log. @returns the exit code: 0 when all logs are intact */
export async function verifyLogs(
  { paths, missing }: Logs,
  {
    head,
    trusted,
    anchors,
    readKeys,
    readRecordCount,
  }: {
    readonly head?: string | undefined
    readonly trusted?: KeyObject | undefined
    /** If given, the time stamps of closed files are verified as well. */
    readonly anchors?: TimestampAnchors | undefined
    /** Reads the keys of the encrypted files of a log. @throws StartupError when it cannot */
    readonly readKeys?: (path: string) => Promise<LogKeys>
    /** For logs of a home, which begin with record 1: reads the number of records that the database has recorded. */
    readonly readRecordCount?: ((path: string) => Promise<number | undefined>) | undefined
  },
  terminal: Pick<Terminal, 'out'>,
  wait: Wait,
): Promise<number> {
  const expected = readExpectedHead(head, paths)
  const wrong = missing.map((line) => `MISSING ${line}`)
  for (const path of paths) {
    const { keys, refusal } = await loadKeys(path, readKeys)
    const verdict = await verifyAtRest(path, { ...expected, logKeys: keys }, trusted, wait)
    const found =
      describeDefect(path, verdict, refusal) ??
      (readRecordCount && describeTruncation(path, verdict, await readRecordCount(path)))
    if (found !== undefined) wrong.push(found)
    else terminal.out(formatIntact(path, verdict))
    if (anchors !== undefined && statSync(path).isDirectory())
      wrong.push(...verifyStamps(path, anchors, terminal))
  }
  for (const line of wrong) terminal.out(line)
  return wrong.length === 0 ? 0 : 1
}

interface LoadedKeys {
  readonly keys: LogKeys
  /** The reason why the keys are missing. */
  readonly refusal: string | undefined
}

/** Without keys, closed files are verified by their checkpoints. */
async function loadKeys(
  path: string,
  readKeys: ((path: string) => Promise<LogKeys>) | undefined,
): Promise<LoadedKeys> {
  try {
    return { keys: (await readKeys?.(path)) ?? noLogKeys, refusal: undefined }
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    return { keys: noLogKeys, refusal: error.message }
  }
}

/** An incomplete last line is torn only if the file does not change any more. */
async function verifyAtRest(
  path: string,
  expected: { readonly expectHead?: ChainHead; readonly logKeys: LogKeys },
  trusted: KeyObject | undefined,
  wait: Wait,
): Promise<VerifyResult> {
  const key = trusted ?? readPublicCheckpointKey(path)
  const keys = key === undefined ? [] : [key]
  for (let reading = 1; ; reading += 1) {
    const verdict = await verifyAudit(path, { thorough: true, keys, ...expected })
    const { torn } = verdict
    if (torn === undefined || reading === maxReads) return verdict
    await wait()
    if (statSync(torn.file).size === torn.at + torn.bytes) return verdict
  }
}

function describeDefect(
  path: string,
  { firstBroken, torn, records, removed, unexplained, unread }: VerifyResult,
  refusal: string | undefined,
): string | undefined {
  if (firstBroken !== undefined) {
    return `BROKEN  ${firstBroken.file}:${firstBroken.line}: ${firstBroken.reason}`
  }
  if (torn?.hole === true || torn?.encrypted === true) {
    const how = torn.hole ? ', some of them zero), as after a power cut' : '), as after a crash'
    return `TORN    ${torn.file}: the end is incomplete (${torn.bytes} bytes at offset ${torn.at}${how}; the next start of the service moves it aside and records that`
  }
  if (torn !== undefined) {
    return `TORN    ${torn.file}: the last line is incomplete (${torn.bytes} bytes at offset ${torn.at}), as after a crash; the next start of the service removes it and records that`
  }
  if (unexplained.length > 0)
    return `MISSING ${path}: ${unexplained.join(', ')}: missing, and neither a signature by the key of the log nor a record of the chain accounts for the removal (warder audit prune signs it)`
  if (unread.length > 0)
    return `UNREAD  ${path}: ${unread.join(', ')}: encrypted, and not verified${refusal === undefined ? '' : ` (${refusal})`}; the closed files before are intact`
  if (records > 0 || removed > 0) return undefined
  return `MISSING ${path}: contains no record, but a service writes one at each start`
}

/** A log without its first files resembles an archive, but the log of a home must be complete. */
function describeTruncation(path: string, { first = 1, head }: VerifyResult, known = 0): string | undefined {
  if (first !== 1)
    return `MISSING ${path}: begins with record ${first}: the files before it and their checkpoints are missing`
  const last = head?.seq ?? 0
  if (last >= known) return undefined
  return `MISSING ${path}: ends with record ${last}, but the database recorded ${known} records`
}

function formatIntact(
  path: string,
  { records, files, removed, unopened, first = 1, head }: VerifyResult,
): string {
  const last = head === undefined ? '' : `, head ${head.seq}:${head.hash}`
  const gone = removed === 0 ? '' : `, ${removed} older files removed`
  const sealed = unopened === 0 ? '' : `, ${unopened} of them encrypted and verified without their key`
  const begin = first === 1 ? '' : `, from record ${first} on: part of a log`
  return `ok      ${path}: ${records} records in ${files} files${begin}${sealed}${gone}${last}`
}

/** Prints a summary of the time stamps of a log. @returns lines about invalid time stamps */
function verifyStamps(
  path: string,
  anchors: TimestampAnchors,
  terminal: Pick<Terminal, 'out'>,
): readonly string[] {
  const { stamped, without, newest, wrong } = verifyTimestamps(path, anchors)
  const last =
    newest === undefined
      ? ''
      : `, the newest of ${new Date(newest.time).toISOString()} by ${newest.authority}`
  terminal.out(`stamped ${path}: ${stamped} of ${stamped + without + wrong.length} closed files${last}`)
  return wrong.map(({ file, problem }) => `BROKEN  ${path}: ${file}: ${problem}`)
}

function readExpectedHead(
  text: string | undefined,
  paths: readonly string[],
): { readonly expectHead?: ChainHead } {
  if (text === undefined) return {}
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text)
  if (match === null) throw new UsageError('--expect-head must be SEQ:HASH, as printed by verify')
  if (paths.length !== 1) throw new UsageError('--expect-head needs the path of one log')
  return { expectHead: { seq: Number(match[1]), hash: match[2] ?? '' } }
}
