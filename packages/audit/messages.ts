import type { MessagePort } from 'node:worker_threads'
import type { BatchMemory, RecordBatch } from './batch.ts'

/** Connection of a worker to the writer. The port is transferable. */
export interface AuditConnection {
  readonly port: MessagePort
  readonly node: string
  readonly service: string
}

/** From a worker. */
export type ToWriter =
  | {
      readonly type: 'records'
      /** undefined = it only reports losses. Its memory goes with it. */
      readonly batch: RecordBatch | undefined
      /** An id for each record of the batch that must be on disk, to answer. */
      readonly durable: readonly number[]
      /** Records that this worker had to drop since its last message. */
      readonly lost: number
    }
  | { readonly type: 'flush'; readonly id: number }
  | { readonly type: 'probe'; readonly id: number }

/** To a worker. */
export type FromWriter =
  | { readonly written: readonly number[]; readonly failed: readonly number[] }
  /**
   * Records of one message that the writer has in its own (bounded) queue now, how long its next number is, and memory
   * of batches of this worker that it is done with.
   */
  | { readonly taken: number; readonly seqDigits: number; readonly memory: readonly BatchMemory[] }
