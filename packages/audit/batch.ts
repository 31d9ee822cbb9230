import { hash } from 'node:crypto'
import { unescapeHidden } from '@warder/base'
import type { ChainHead } from './record.ts'

/**
 * Records on their way from a worker to the writer: one string, since one string is the cheapest message
 * (docs/adr/audit-log.md).
 */
export interface RecordBatch {
  /** The lines of the records. JSON contains no raw tab, so tabs mark the places of `prev` and `seq`. */
  readonly text: string
  readonly count: number
}

/** Max memory of a waiting batch in bytes: two for each UTF-16 unit, and the objects around the text. */
export function getMemoryBytes({ text }: RecordBatch): number {
  return text.length * 2 + 256
}

/**
 * Appends the records to the chain: sets `seq`, `prev`, and `hash`, which is SHA-256 over `prev` and the canonical record.
 * @returns the lines for the file, and the head after them
 */
export function chainBatch(
  { text }: RecordBatch,
  head: ChainHead,
): { readonly lines: string; readonly head: ChainHead } {
  let lines = ''
  let { seq, hash: prev } = head
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start)
    const prevAt = text.indexOf('\t', start)
    const seqAt = text.indexOf('\t', prevAt + 1)
    seq += 1
    const record = `${text.slice(start, prevAt)}${prev}${text.slice(prevAt + 1, seqAt)}${seq}${text.slice(seqAt + 1, end)}`
    prev = hash('sha256', prev + (record.includes('\\u') ? unescapeHidden(record) : record), 'hex')
    lines += `${record.slice(0, -1)},"hash":"${prev}"}\n`
    start = end + 1
  }
  return { lines, head: { seq, hash: prev } }
}
