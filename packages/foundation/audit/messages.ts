import type { PreparedRecord } from './record.ts'

/** From a worker: what it recorded in one turn. Records travel as one text, four lines each. */
export type ToWriter =
  | {
      readonly type: 'records'
      readonly text: string
      /** For each record that must be on disk: its place in the batch and the id to answer. */
      readonly durable: readonly (readonly [place: number, id: number])[]
      /** Records that this worker had to drop since its last message. */
      readonly lost: number
    }
  | { readonly type: 'flush'; readonly id: number }

/** To a worker. */
export type FromWriter =
  | { readonly written: readonly number[]; readonly failed: readonly number[] }
  /** Records of one message that the writer has in its own (bounded) queue now. */
  | { readonly taken: number }

/** JSON text holds no raw newline, so newlines can separate the parts. */
export function packRecords(records: readonly PreparedRecord[]): string {
  const parts: string[] = []
  for (const { beforeNode, beforePrev, beforeSeq, afterService } of records) {
    parts.push(beforeNode, beforePrev, beforeSeq, afterService)
  }
  return parts.join('\n')
}

export function unpackRecords(text: string): PreparedRecord[] {
  const parts = text.split('\n')
  const records: PreparedRecord[] = []
  for (let index = 0; index + 3 < parts.length; index += 4) {
    records.push({
      beforeNode: parts[index] ?? '',
      beforePrev: parts[index + 1] ?? '',
      beforeSeq: parts[index + 2] ?? '',
      afterService: parts[index + 3] ?? '',
    })
  }
  return records
}
