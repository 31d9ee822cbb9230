import { hash } from 'node:crypto'
import { unescapeHidden } from './hidden-characters.ts'
import type { ChainHead, RecordText } from './record.ts'

/**
 * Memory of a batch. It is transferred to the writer with the batch and comes back: with new memory for each batch the
 * writer's thread would run a full garbage collection several times a second.
 */
export interface BatchMemory {
  /** 64 bytes to work with, then the lines. */
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Four numbers for each record: where it begins, where its `prev` goes, where its `seq` goes, 1 = it has escapes. */
  readonly marks: Uint32Array<ArrayBuffer>
}

/**
 * The bytes of the lines of records, one after the other, with gaps for members that only the writer knows:
 * `prev`, `seq` and `hash`. A worker lays them out and lends its memory; the writer fills the gaps and writes
 * those very bytes.
 */
export interface RecordBatch extends BatchMemory {
  /** Offset of the end of the last line. */
  readonly end: number
  readonly count: number
  /** Width of the gap for `seq`. */
  readonly seqDigits: number
}

const hashLength = 64
const marksPerRecord = 4
const formatLineEnd = (digest: string): string => `,"hash":"${digest}"}\n`
/** The end of a line takes the place of the closing brace of the record. */
const endLength = formatLineEnd('0'.repeat(hashLength)).length
/** Enough for the records of a busy worker in some milliseconds. */
const defaultBytes = 128 * 1024
const defaultRecords = 512
/** Bytes that a UTF-16 unit may take in UTF-8. */
const maxBytesPerUnit = 3

/** A batch in the making. */
export class BatchBuilder {
  readonly #bytes: Buffer<ArrayBuffer>
  readonly #marks: Uint32Array<ArrayBuffer>
  readonly #seqDigits: number
  #at = hashLength
  #count = 0

  constructor(seqDigits: number, { bytes, marks }: BatchMemory) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#marks = marks
    this.#seqDigits = seqDigits
  }

  get count(): number {
    return this.#count
  }

  /** False, and nothing is changed, when there is no room. */
  add(record: RecordText): boolean {
    const mark = this.#count * marksPerRecord
    if (
      this.#at + getMaxLineBytes(record, this.#seqDigits) > this.#bytes.length ||
      mark === this.#marks.length
    )
      return false
    const { beforePrev, beforeSeq, afterSeq } = record
    const bytes = this.#bytes
    const prevAt = this.#at + bytes.write(beforePrev, this.#at, 'utf8')
    const seqAt = prevAt + hashLength + bytes.write(beforeSeq, prevAt + hashLength, 'utf8')
    const tailAt = seqAt + this.#seqDigits
    this.#marks[mark] = this.#at
    this.#marks[mark + 1] = prevAt
    this.#marks[mark + 2] = seqAt
    this.#marks[mark + 3] = record.escaped ? 1 : 0
    this.#at = tailAt + bytes.write(afterSeq, tailAt, 'utf8') - 1 + endLength
    this.#count += 1
    return true
  }

  /** Returns the records added so far. The builder must not be used afterwards. */
  build(): RecordBatch {
    return {
      bytes: this.#bytes,
      end: this.#at,
      count: this.#count,
      marks: this.#marks,
      seqDigits: this.#seqDigits,
    }
  }
}

/** Bytes that the line of a record takes at most. */
function getMaxLineBytes({ beforePrev, beforeSeq, afterSeq }: RecordText, seqDigits: number): number {
  const units = beforePrev.length + beforeSeq.length + afterSeq.length
  return units * maxBytesPerUnit + hashLength + seqDigits + endLength
}

/** @param bytes,records how much there is room for */
export function allocateBatchMemory(bytes: number, records: number): BatchMemory {
  return { bytes: Buffer.allocUnsafeSlow(bytes), marks: new Uint32Array(records * marksPerRecord) }
}

/** Bytes that a batch holds for as long as it waits. */
export function getMemoryBytes({ bytes, marks }: BatchMemory): number {
  return bytes.byteLength + marks.byteLength
}

/**
 * The same records in no more memory than they need, for a batch that has to wait: most memory of a small one is unused.
 * @returns undefined if that would not save half of it
 */
export function compactBatch(batch: RecordBatch): RecordBatch | undefined {
  const { bytes, marks, end, count } = batch
  const used = end + count * marksPerRecord * marks.BYTES_PER_ELEMENT
  if (used * 2 > getMemoryBytes(batch)) return undefined
  // A Buffer's own `slice` would share the memory.
  const copy = new Uint8Array(bytes.subarray(0, end))
  return { ...batch, bytes: copy, marks: marks.slice(0, count * marksPerRecord) }
}

/** Whether the memory has the default size. */
export function hasDefaultSize({ bytes, marks }: BatchMemory): boolean {
  return bytes.length === defaultBytes && marks.length === defaultRecords * marksPerRecord
}

/** A builder for this record and others, whatever its size. @param spare memory of the usual size, if there is some */
export function createBuilder(
  record: RecordText,
  seqDigits: number,
  spare: () => BatchMemory | undefined,
): BatchBuilder {
  const needed = hashLength + getMaxLineBytes(record, seqDigits)
  const known = needed > defaultBytes ? undefined : spare()
  return new BatchBuilder(
    seqDigits,
    known ?? allocateBatchMemory(Math.max(defaultBytes, needed), defaultRecords),
  )
}

/** One record, in no more memory than it may need. */
export function createSingleBatch(record: RecordText, seqDigits: number): RecordBatch {
  const builder = new BatchBuilder(
    seqDigits,
    allocateBatchMemory(hashLength + getMaxLineBytes(record, seqDigits), 1),
  )
  builder.add(record)
  return builder.build()
}

/**
 * Appends the records to the chain after `head`: `seq`, `prev`, and `hash`, which is SHA-256 over `prev` and
 * the canonical record.
 * @returns the lines to write, and the head after them
 */
export function chainBatch(
  batch: RecordBatch,
  head: ChainHead,
): { readonly lines: readonly Uint8Array[]; readonly head: ChainHead } {
  const lines: Uint8Array[] = []
  let last = head
  for (let from = 0; from < batch.count; ) {
    const digits = countDigitsAfter(last.seq)
    const to = Math.min(batch.count, from + (10 ** digits - 1 - last.seq))
    const fits = digits === batch.seqDigits && from === 0 && to === batch.count
    const part = fits ? batch : withSeqDigits(batch, from, to, digits)
    last = fillGaps(part, last)
    lines.push(part.bytes.subarray(hashLength, part.end))
    from = to
  }
  return { lines, head: last }
}

/** Digits of the number that follows. */
export function countDigitsAfter(seq: number): number {
  return String(seq + 1).length
}

/**
 * The bytes in front of a record are the end of the line before it, whose hash is known: `prev` is put there for as
 * long as the record is hashed, so that what is hashed lies in one piece.
 */
function fillGaps(batch: RecordBatch, head: ChainHead): ChainHead {
  const { bytes, end, count, marks } = batch
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  let { seq, hash: prev } = head
  let lineEnd = ''
  for (let index = 0; index < count; index += 1) {
    const mark = index * marksPerRecord
    const start = marks[mark] ?? 0
    seq += 1
    view.write(prev, start - hashLength, 'latin1')
    view.write(prev, marks[mark + 1] ?? 0, 'latin1')
    view.write(String(seq), marks[mark + 2] ?? 0, 'latin1')
    const braceAt = getRecordEnd(batch, index) - endLength
    const record = view.subarray(start - hashLength, braceAt + 1)
    const canonical = marks[mark + 3] === 1 ? unescapeHidden(record.toString('utf8')) : record
    prev = hash('sha256', canonical, 'hex')
    if (index > 0) view.write(lineEnd, start - endLength, 'latin1')
    lineEnd = formatLineEnd(prev)
  }
  view.write(lineEnd, end - endLength, 'latin1')
  return { seq, hash: prev }
}

/** Offset of the end of a record's line. */
function getRecordEnd({ end, count, marks }: RecordBatch, index: number): number {
  return index + 1 < count ? (marks[(index + 1) * marksPerRecord] ?? 0) : end
}

/** Some records of a batch, laid out anew for numbers of another length: seldom, since numbers seldom get longer. */
function withSeqDigits(batch: RecordBatch, from: number, to: number, seqDigits: number): RecordBatch {
  const { bytes, marks } = batch
  const wider = Math.max(0, seqDigits - batch.seqDigits) * (to - from)
  const size = hashLength + getRecordEnd(batch, to - 1) - (marks[from * marksPerRecord] ?? 0) + wider
  const fresh = new Uint8Array(size)
  const freshMarks = new Uint32Array((to - from) * marksPerRecord)
  let at = hashLength
  const copy = (start: number, end: number): void => {
    fresh.set(bytes.subarray(start, end), at)
    at += end - start
  }
  for (let index = from; index < to; index += 1) {
    const [start = 0, prevAt = 0, seqAt = 0, escaped = 0] = marks.subarray(index * marksPerRecord)
    const mark = (index - from) * marksPerRecord
    freshMarks[mark] = at
    freshMarks[mark + 1] = at + prevAt - start
    copy(start, seqAt)
    freshMarks[mark + 2] = at
    freshMarks[mark + 3] = escaped
    at += seqDigits
    copy(seqAt + batch.seqDigits, getRecordEnd(batch, index))
  }
  return { bytes: fresh, end: at, count: to - from, marks: freshMarks, seqDigits }
}
