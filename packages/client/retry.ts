import { ClientError } from './error.ts'

export interface RetryPolicy {
  /** Tries after the first one; 0 = none. */
  readonly retries: number
  /** The longest `Retry-After` that is waited for; a longer one is the caller's to decide. */
  readonly maxWaitSeconds: number
  readonly wait: (seconds: number) => Promise<void>
}

const withoutAdvice = 1

/**
 * Calls again what the service refused for being busy (429, 503), after the time that it named. Nothing else is
 * tried again: after a broken connection nobody knows whether the request was carried out.
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
