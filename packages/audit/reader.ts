import type { LogKeys } from './encrypted-bytes.ts'
import { readLines } from './lines.ts'
import { listSegmentNumbers, readSegment } from './segments.ts'

/** A line of the log. */
export interface ReadRecord {
  readonly seq: number
  readonly line: string
}

const seqPattern = /,"seq":(\d+),"service":/

/** The number of a record, out of its line. */
export function parseSeq(line: string): number | undefined {
  const match = seqPattern.exec(line)
  return match === null ? undefined : Number(match[1])
}

/** Reads the records of a log in order, also while it is written, archived and pruned. Changes nothing. */
export class LogReader {
  readonly #folder: string
  readonly #keys: LogKeys | undefined
  #last: number
  #segment: number | undefined
  #at = 0
  /** The file that `#at` is in: an archived one has other offsets. */
  #path = ''
  #missed = 0

  /**
   * @param after the number of the record after which it begins
   * @param keys for encrypted files
   */
  constructor(folder: string, after: number, keys?: LogKeys) {
    this.#folder = folder
    this.#keys = keys
    this.#last = after
  }

  /** Number of the record that was returned last. */
  get last(): number {
    return this.#last
  }

  /** Records that were removed before they could be read, since the last call. */
  takeMissed(): number {
    const missed = this.#missed
    this.#missed = 0
    return missed
  }

  /**
   * The next records.
   * @param most the maximum number of records and characters; a single record is returned at any length
   * @returns none when there are no more now
   */
  async next(maxRecords: number, maxLength: number): Promise<readonly ReadRecord[]> {
    for (;;) {
      const numbers = listSegmentNumbers(this.#folder)
      if (this.#segment === undefined || !numbers.includes(this.#segment)) this.#place(numbers)
      const here = this.#segment
      if (here === undefined) return []
      const { path } = readSegment(this.#folder, here)
      const found = path === undefined ? [] : await this.#read(path, maxRecords, maxLength)
      if (found.length > 0) return found
      // Known before the file was read: the writer had already closed it.
      const following = numbers[numbers.indexOf(here) + 1]
      if (following === undefined) return []
      // Records of a damaged file that cannot be read.
      if (following > this.#last + 1) this.#miss(following - 1)
      this.#enter(following)
    }
  }

  /** Finds the next record. */
  #place(numbers: readonly number[]): void {
    // A log that replaces a broken one begins with 1.
    if (this.#segment !== undefined && (numbers.at(-1) ?? 0) <= this.#last) this.#last = 0
    const first = numbers.findLast((number) => number <= this.#last + 1) ?? numbers[0]
    this.#segment = undefined
    if (first !== undefined) this.#enter(first)
  }

  #enter(firstSeq: number): void {
    const { path, signed } = readSegment(this.#folder, firstSeq)
    this.#segment = firstSeq
    this.#at = 0
    const end = signed?.checkpoint.last_seq
    if (path === undefined && end !== undefined && end > this.#last) this.#miss(end)
  }

  #miss(last: number): void {
    this.#missed += last - this.#last
    this.#last = last
  }

  async #read(path: string, maxRecords: number, maxLength: number): Promise<readonly ReadRecord[]> {
    const found: ReadRecord[] = []
    let length = 0
    if (path !== this.#path) this.#at = 0
    this.#path = path
    for await (const { bytes, next, whole } of readLines(path, { from: this.#at, keys: this.#keys })) {
      if (!whole) break
      const line = bytes.toString('utf8')
      const seq = parseSeq(line) ?? this.#last + 1
      if (seq > this.#last) {
        length += line.length
        if (found.length > 0 && (found.length === maxRecords || length > maxLength)) break
        found.push({ seq, line })
        this.#last = seq
      }
      this.#at = next
    }
    return found
  }
}
