import { type ErrorKind, failure } from '@warder/base'
import { CovercryptError, type CovercryptErrorCode, covercryptError } from '@warder/covercrypt'
import { type FailedJob, JobThread, type ThreadBounds } from '../bulk/job-thread.ts'
import type { AbeJob, AbeResults } from './jobs.ts'

const bounds: ThreadBounds = {
  maxBytes: 256 * 1024 * 1024,
  idleMs: 60_000,
  thread: new URL('./abe-thread.ts', import.meta.url),
}
/** Beside its data each job counts as so much, which bounds how many wait. */
const jobBytes = 1024 * 1024

/** The thread of attribute-based encryption. The data of a job are copied: the sender wipes its own. */
class AbeThread extends JobThread<AbeJob, AbeResults> {
  constructor(others: Partial<ThreadBounds> = {}) {
    super('attribute-based encryption', { ...bounds, ...others })
  }

  /** @throws failure('overloaded') when too much waits already; rejects with a CovercryptError or a Failure */
  run<Type extends AbeJob['type']>(job: Extract<AbeJob, { type: Type }>): Promise<AbeResults[Type]> {
    const data = Object.values(job)
      .flat()
      .filter((value) => value instanceof Uint8Array)
    return this.send(
      job,
      data.reduce((sum, { byteLength }) => sum + byteLength, jobBytes),
      [],
    )
  }

  protected override errorOf(failed: FailedJob): Error {
    if (failed.code === undefined) return super.errorOf(failed)
    return covercryptError(failed.code as CovercryptErrorCode, failed.message, failed.item)
  }
}

/** Of this worker of the service. */
export const abeThread = new AbeThread()

const kinds: Readonly<Record<CovercryptErrorCode, ErrorKind>> = {
  malformed: 'bad_request',
  invalid_policy: 'bad_request',
  invalid_structure: 'bad_request',
  unknown_attribute: 'bad_request',
  mixed_modes: 'bad_request',
  too_large: 'bad_request',
  disabled_attribute: 'crypto_failure',
  foreign_key: 'crypto_failure',
  cannot_open: 'decryption_failed',
}

/** Awaits work with attribute-based keys and converts its errors to failures of the registry. */
export async function inFailures<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw error instanceof CovercryptError ? failure(kinds[error.code], error.message) : error
  }
}
