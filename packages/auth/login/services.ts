import type { Metrics } from '@warder/base'
import type { TokenBuckets } from '@warder/server'
import type { SessionManager } from '../sessions/session-manager.ts'
import type { Attempts } from '../throttle/attempts.ts'
import type { FailureCounter } from '../throttle/failures.ts'
import type { SecondProofServices } from './method.ts'

/** Services that limit logins by address. */
export interface LoginLimitServices {
  /** Logins of every kind, by address. */
  readonly loginBuckets: TokenBuckets
}

/** Services used by a login, whatever its method. */
export interface LoginServices extends SecondProofServices, LoginLimitServices {
  readonly metrics: Metrics
  readonly sessions: SessionManager
  readonly failures: FailureCounter
  readonly attempts: Attempts
  /** Attempts with a code. They have their own counters, always entered after those of `attempts`. */
  readonly codeAttempts: Attempts
}
