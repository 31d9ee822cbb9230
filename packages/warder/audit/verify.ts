import type { KeyObject } from 'node:crypto'
import { statSync } from 'node:fs'
import {
  type ChainHead,
  publicCheckpointKey,
  type TimestampAnchors,
  type Verdict,
  verifyAudit,
  verifyTimestamps,
} from '@warder/foundation/audit'
import type { Terminal } from '../cli/command.ts'
import { UsageError } from '../cli/command.ts'
import type { Logs } from './logs.ts'

/** Called when a line has no end: the service that may be writing it gets on meanwhile. */
export type Wait = () => Promise<void>

/** A log whose last line is another one each time is read so often. */
const mostReadings = 5

/** Prints one line for each log. @returns the exit code: 0 when all are whole */
export async function verifyLogs(
  { paths, missing }: Logs,
  {
    head,
    trusted,
    anchors,
  }: {
    readonly head?: string | undefined
    readonly trusted?: KeyObject | undefined
    /** Given: time stamps of closed files are checked, too. */
    readonly anchors?: TimestampAnchors | undefined
  },
  terminal: Pick<Terminal, 'out'>,
  wait: Wait,
): Promise<number> {
  const expected = expectedHead(head, paths)
  const wrong = missing.map((line) => `MISSING ${line}`)
  for (const path of paths) {
    const verdict = await verifyAtRest(path, expected, trusted, wait)
    const found = whatIsWrong(path, verdict)
    if (found !== undefined) wrong.push(found)
    else terminal.out(whole(path, verdict))
    if (anchors !== undefined && statSync(path).isDirectory())
      wrong.push(...stampsOf(path, anchors, terminal))
  }
  for (const line of wrong) terminal.out(line)
  return wrong.length === 0 ? 0 : 1
}

/** A line without its end is torn only when nobody is writing it: the file then stays as it is. */
async function verifyAtRest(
  path: string,
  expected: { readonly expectHead?: ChainHead },
  trusted: KeyObject | undefined,
  wait: Wait,
): Promise<Verdict> {
  const key = trusted ?? publicCheckpointKey(path)
  const keys = key === undefined ? [] : [key]
  for (let reading = 1; ; reading += 1) {
    const verdict = await verifyAudit(path, { thorough: true, keys, ...expected })
    const { torn } = verdict
    if (torn === undefined || reading === mostReadings) return verdict
    await wait()
    if (statSync(torn.file).size === torn.at + torn.bytes) return verdict
  }
}

function whatIsWrong(
  path: string,
  { firstBroken, torn, records, removed, unexplained }: Verdict,
): string | undefined {
  if (firstBroken !== undefined) {
    return `BROKEN  ${firstBroken.file}:${firstBroken.line}: ${firstBroken.reason}`
  }
  if (torn?.hole === true) {
    return `TORN    ${torn.file}: the end was not written whole (${torn.bytes} bytes at offset ${torn.at}, some of them zero), as after a power cut; the next start of the service puts it aside and records that`
  }
  if (torn !== undefined) {
    return `TORN    ${torn.file}: the last line has no end (${torn.bytes} bytes at offset ${torn.at}), as after a crash; the next start of the service cuts it off and records that`
  }
  if (unexplained.length > 0)
    return `MISSING ${path}: ${unexplained.join(', ')}: gone, and nobody said that they would be removed (warder audit prune says it)`
  if (records > 0 || removed > 0) return undefined
  return `MISSING ${path}: holds no record; a service writes one at each start`
}

function whole(path: string, { records, files, removed, head }: Verdict): string {
  const last = head === undefined ? '' : `, head ${head.seq}:${head.hash}`
  const gone = removed === 0 ? '' : `, ${removed} older files removed`
  return `ok      ${path}: ${records} records in ${files} files${gone}${last}`
}

/** Prints what the time stamps of a log say. @returns lines about those that do not hold */
function stampsOf(
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

function expectedHead(
  text: string | undefined,
  paths: readonly string[],
): { readonly expectHead?: ChainHead } {
  if (text === undefined) return {}
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text)
  if (match === null) throw new UsageError('--expect-head is SEQ:HASH as verify prints it')
  if (paths.length !== 1) throw new UsageError('--expect-head goes with the path of one log')
  return { expectHead: { seq: Number(match[1]), hash: match[2] ?? '' } }
}
