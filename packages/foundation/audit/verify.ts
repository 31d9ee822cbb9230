import { createHash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { firstSeqOf, logFiles } from './folder.ts'
import { escapeHidden, unescapeHidden } from './hidden-characters.ts'
import { genesis, hashOf } from './record.ts'
import { parseRecordJson } from './record-json.ts'

export interface ChainHead {
  readonly seq: number
  readonly hash: string
}

export interface BrokenAt {
  readonly file: string
  /** From 1. */
  readonly line: number
  readonly reason: string
}

export interface Verdict {
  readonly ok: boolean
  readonly records: number
  readonly files: number
  /** The last record of a whole chain: keep it elsewhere, and a log that was cut off later is found out. */
  readonly head: ChainHead | undefined
  readonly firstBroken: BrokenAt | undefined
  readonly torn: TornTail | undefined
}

/** The end of the last file, from the first line that was not written whole when the process or the machine died. */
export interface TornTail {
  readonly file: string
  readonly at: number
  readonly bytes: number
  /**
   * Bytes of it are zero: after a power cut a file may have its new length but not all of its data. Whole lines may
   * stand behind them.
   */
  readonly hole: boolean
}

const longestLine = 1_048_576
/** No more than this waits for the disk. A longer tail behind a hole is taken for a broken log. */
const longestTornTail = 64 * 1_048_576

/**
 * Recomputes the chain of a log file or folder, reading it once with little memory. Finds lines that were changed,
 * removed, inserted or moved, and missing files. A single rotated file starts from what its first record says, which
 * is the one that its name says. Lines cut off at the very end leave a chain that is whole: compare the head with one
 * that was kept elsewhere (`expectHead`).
 * @param options.thorough also parses every line and looks at how it is written; without it lines whose bytes hash
 *   right are taken as they are (a start has to be quick)
 */
export async function verifyAudit(
  path: string,
  options: { readonly thorough?: boolean; readonly expectHead?: ChainHead } = {},
): Promise<Verdict> {
  const isFolder = statSync(path).isDirectory()
  const files = isFolder ? logFiles(path) : [{ path, firstSeq: firstSeqOf(path) }]
  let head: ChainHead | undefined
  let records = 0
  let torn: Verdict['torn']
  let expected = options.expectHead === undefined
  const anywhere = !isFolder && files[0]?.firstSeq !== 1
  let place = { file: path, line: 0 }
  const broken = (reason: string): Verdict => ({
    ok: false,
    records,
    files: files.length,
    head,
    firstBroken: { ...place, reason },
    torn: undefined,
  })
  for (const [index, file] of files.entries()) {
    let number = 0
    for await (const { bytes, at, whole } of linesOf(file.path)) {
      number += 1
      place = { file: file.path, line: number }
      const isLast = index === files.length - 1
      if (!whole) {
        if (!isLast) return broken('the line is torn')
        torn = { file: file.path, at, bytes: bytes.length, hole: bytes.includes(0) }
        break
      }
      const quick = head === undefined || options.thorough === true ? undefined : quickCheck(bytes, head)
      const checked = quick ?? checkLine(bytes, head, records === 0 && anywhere)
      if (typeof checked === 'string') {
        const tail = isLast ? tailBehindHole(file.path, at, bytes) : undefined
        if (tail === undefined) return broken(checked)
        torn = tail
        break
      }
      if (number === 1 && file.firstSeq !== undefined && file.firstSeq !== checked.seq) {
        return broken(`the file name says its first record is ${file.firstSeq}, it is ${checked.seq}`)
      }
      head = checked
      records += 1
      if (options.expectHead?.seq === head.seq) {
        if (options.expectHead.hash !== head.hash)
          return broken('this record is not the one that was expected here')
        expected = true
      }
    }
  }
  if (!expected)
    return broken(`record ${options.expectHead?.seq}, which was expected, is not in the log any more`)
  return { ok: true, records, files: files.length, head, firstBroken: undefined, torn }
}

/** JSON holds no zero byte: a line that does was never written. */
function tailBehindHole(file: string, at: number, line: Buffer): TornTail | undefined {
  const bytes = statSync(file).size - at
  return line.includes(0) && bytes <= longestTornTail ? { file, at, bytes, hole: true } : undefined
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** @param anywhere the chain may start in the middle (a single file that was rotated) */
function checkLine(bytes: Buffer, head: ChainHead | undefined, anywhere: boolean): ChainHead | string {
  let text: string
  let record: Readonly<Record<string, unknown>>
  try {
    text = utf8.decode(bytes)
    record = parseRecordJson(text) as Readonly<Record<string, unknown>>
  } catch {
    return 'the line is not JSON in UTF-8'
  }
  if (typeof record !== 'object' || record === null || Array.isArray(record))
    return 'the line is not a record'
  const { seq, prev, hash: digest } = record
  if (typeof seq !== 'number' || typeof prev !== 'string' || typeof digest !== 'string') {
    return 'seq, prev or hash is missing'
  }
  if (head !== undefined || !anywhere) {
    const expected = head ?? { seq: 0, hash: genesis }
    if (seq !== expected.seq + 1) return `record ${expected.seq + 1} is missing here (found ${seq})`
    if (prev !== expected.hash) return 'prev is not the hash of the record before'
  }
  if (hashOf(record) !== digest) return 'the record was changed: its hash is another'
  // A member written twice would be read one way here and another way elsewhere.
  const plain = JSON.stringify(record)
  // Versions before this one escaped less.
  if (text.length !== escapeHidden(plain).length && text.length !== plain.length)
    return 'the line is not written as Warder writes it'
  return { seq, hash: digest }
}

/** `,"hash":"` and 64 hexadecimal digits and `"}` at the end of a line. */
const tailBytes = 75

/**
 * The line as Warder writes it: what stands before `hash` is canonical already, so its bytes are hashed as they are.
 * Whatever does not fit exactly is looked at in full.
 */
function quickCheck(line: Buffer, head: ChainHead): ChainHead | undefined {
  const split = line.length - tailBytes
  if (split <= 0) return undefined
  const seq = head.seq + 1
  if (!line.includes(`,"prev":"${head.hash}",`) || !line.includes(`,"seq":${seq},"service":`))
    return undefined
  const body = line.subarray(0, split)
  const digestOf = (canonical: Buffer | string): string =>
    createHash('sha256').update(head.hash).update(canonical).update('}').digest('hex')
  // The whole tail is compared, to its last byte.
  const tail = line.toString('latin1', split)
  const digest = digestOf(body)
  if (tail === `,"hash":"${digest}"}`) return { seq, hash: digest }
  if (!body.includes('\\u')) return undefined
  const unescaped = digestOf(unescapeHidden(body.toString('utf8')))
  return tail === `,"hash":"${unescaped}"}` ? { seq, hash: unescaped } : undefined
}

/** Lines (split at the newline byte and nothing else) with the byte at which they start; the last may lack its end. */
export async function* linesOf(path: string): AsyncGenerator<{ bytes: Buffer; at: number; whole: boolean }> {
  let rest: Buffer = Buffer.alloc(0)
  let at = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1_048_576 })) {
    const bytes: Buffer = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer])
    let start = 0
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      yield { bytes: bytes.subarray(start, end), at: at + start, whole: true }
      start = end + 1
    }
    at += start
    rest = Buffer.from(bytes.subarray(start))
    if (rest.length > longestLine) break
  }
  if (rest.length > 0) yield { bytes: rest, at, whole: rest.length > longestLine }
}
