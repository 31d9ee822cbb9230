import type { MessagePort } from 'node:worker_threads'
import type { RecordBatch } from './batch.ts'

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
      /** undefined = the message only reports losses. */
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
  /** Number of records of one message that the writer has put into its own bounded queue. */
  | { readonly taken: number }
