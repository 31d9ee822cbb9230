import { createHash } from 'node:crypto'
import { checkRecord } from './check-record.ts'
import { isEncryptedName, type LogKeys } from './encrypted-bytes.ts'
import { computeStoredDigest, readBytes, readLines } from './lines.ts'
import type { ChainHead } from './record.ts'

/** Contents of a file of a log. */
export interface ExaminedFile {
  readonly head: ChainHead
  readonly records: number
  /** RFC 3339, of the earliest and the latest record. */
  readonly earliest: string
  readonly latest: string
  readonly bytes: number
  readonly sha256: string
  /** Of an encrypted file as it is on disk; the others are of its plaintext. */
  readonly stored?: { readonly bytes: number; readonly sha256: string }
}

/** `,"time":"` of a record: its last member before `hash`. */
const timeBefore = ',"time":"'
const timeLength = '2026-11-21T00:00:00.000Z'.length

/**
 * Recomputes the chain of one closed file.
 * @param from state of the chain before it @returns the error in the file, as a sentence
 */
export async function examineFile(
  path: string,
  from: ChainHead,
  keys?: LogKeys,
): Promise<ExaminedFile | string> {
  const digest = createHash('sha256')
  let head = from
  let records = 0
  let bytes = 0
  let earliest = ''
  let latest = ''
  for await (const line of readLines(path, { keys })) {
    if (!line.whole) return `line ${records + 1} is torn`
    const checked = checkRecord(line.bytes, head, { thorough: false, anywhere: false })
    if (typeof checked === 'string') return `line ${records + 1}: ${checked}`
    digest.update(line.bytes).update('\n')
    bytes += line.bytes.length + 1
    records += 1
    head = checked
    const time = readTime(line.bytes)
    if (earliest === '' || time < earliest) earliest = time
    if (time > latest) latest = time
  }
  const found = { head, records, earliest, latest, bytes, sha256: digest.digest('hex') }
  return isEncryptedName(path) ? { ...found, stored: await computeStoredDigest(path) } : found
}

/** SHA-256 and length of a file as it was written. */
export async function computeDigest(
  path: string,
  keys?: LogKeys,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const digest = createHash('sha256')
  let bytes = 0
  for await (const chunk of readBytes(path, { keys })) {
    digest.update(chunk)
    bytes += chunk.length
  }
  return { bytes, sha256: digest.digest('hex') }
}

/** Times of records are of one form, and sort as texts. The last one of the line is the record's: others are in `details`. */
function readTime(line: Buffer): string {
  const at = line.lastIndexOf(timeBefore)
  return line.toString('latin1', at + timeBefore.length, at + timeBefore.length + timeLength)
}
