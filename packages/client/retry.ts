import { ClientError } from './error.ts'

export interface RetryPolicy {
  /** Maximum number of retries; 0 = none. */
  readonly retries: number
  /** Maximum `Retry-After` to wait for; a longer one is an error. */
  readonly maxWaitSeconds: number
  readonly wait: (seconds: number) => Promise<void>
}

const withoutAdvice = 1

/**
 * Retries calls that the service refused as busy (429, 503), after its `Retry-After`. Nothing else is retried: after
 * a broken connection it is unknown whether the request was executed.
 */
export async function withRetries<R>(policy: RetryPolicy, call: () => Promise<R>): Promise<R> {
  for (let left = policy.retries; ; left -= 1) {
    try {
      return await call()
    } catch (error) {
      const busy = error instanceof ClientError && (error.status === 429 || error.status === 503)
      if (!busy || left <= 0) throw error
      const seconds = error.retryAfter ?? withoutAdvice
      if (seconds > policy.maxWaitSeconds) throw error
      await policy.wait(seconds)
    }
  }
}
