import { JobThread, type ThreadBounds } from './job-thread.ts'
import type { Job, Results } from './jobs.ts'

/**
 * Min size of bodies that are parsed, encrypted and decrypted on the thread: for smaller ones the transfer costs more.
 */
export const bulkBytes = 256 * 1024

const bounds: ThreadBounds = {
  maxBytes: 256 * 1024 * 1024,
  idleMs: 5_000,
  thread: new URL('./bulk-thread.ts', import.meta.url),
}

/** The thread of large data. The data of a job is transferred and must not be used again. */
export class BulkThread extends JobThread<Job, Results> {
  constructor(others: Partial<ThreadBounds> = {}) {
    super('large data', { ...bounds, ...others })
  }

  /** @throws failure('overloaded') when too much waits already */
  run<Type extends Job['type']>(job: Extract<Job, { type: Type }>, data: Uint8Array): Promise<Results[Type]> {
    return this.send(job, data.byteLength, [data.buffer as ArrayBuffer])
  }
}

/** Of this worker of the service. */
export const bulkThread = new BulkThread()
