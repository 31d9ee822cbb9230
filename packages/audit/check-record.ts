import { createHash } from 'node:crypto'
import { escapeHidden, unescapeHidden } from '@warder/base'
import { beginning, type ChainHead, computeHash, parseRecordJson } from './record.ts'

/**
 * @param head undefined = this is the first record
 * @returns the state of the chain after the record, or the error
 */
export function checkRecord(
  line: Buffer,
  head: ChainHead | undefined,
  { thorough, anywhere }: { readonly thorough: boolean; readonly anywhere: boolean },
): ChainHead | string {
  const quick = head === undefined || thorough ? undefined : quickCheck(line, head)
  return quick ?? checkLine(line, head, anywhere)
}

/** Whether a line is a record whose hash is that of its content. Its position in the chain is not checked. */
export function isRecordWhole(line: string): boolean {
  return typeof checkLine(Buffer.from(line), undefined, true) !== 'string'
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
    const expected = head ?? beginning
    if (seq !== expected.seq + 1) return `record ${expected.seq + 1} is missing here (found ${seq})`
    if (prev !== expected.hash) return 'prev is not the hash of the record before'
  }
  if (computeHash(record) !== digest) return 'the record was changed: its hash differs'
  // Parsers differ about a member that occurs twice.
  const plain = JSON.stringify(record)
  // Versions before this one escaped less.
  if (text.length !== escapeHidden(plain).length && text.length !== plain.length)
    return 'the line does not have the canonical form'
  return { seq, hash: digest }
}

/** `,"hash":"` and 64 hexadecimal digits and `"}` at the end of a line. */
const tailBytes = 75

/**
 * The line as Warder writes it: the part before `hash` is already canonical, so its bytes are hashed
 * unchanged. Any line that does not match exactly is checked in full.
 */
function quickCheck(line: Buffer, head: ChainHead): ChainHead | undefined {
  const split = line.length - tailBytes
  if (split <= 0) return undefined
  const seq = head.seq + 1
  if (!line.includes(`,"prev":"${head.hash}",`) || !line.includes(`,"seq":${seq},"service":`))
    return undefined
  const body = line.subarray(0, split)
  const computeDigest = (canonical: Buffer | string): string =>
    createHash('sha256').update(head.hash).update(canonical).update('}').digest('hex')
  // The whole tail is compared, to its last byte.
  const tail = line.toString('latin1', split)
  const digest = computeDigest(body)
  if (tail === `,"hash":"${digest}"}`) return { seq, hash: digest }
  if (!body.includes('\\u')) return undefined
  const unescaped = computeDigest(unescapeHidden(body.toString('utf8')))
  return tail === `,"hash":"${unescaped}"}` ? { seq, hash: unescaped } : undefined
}
