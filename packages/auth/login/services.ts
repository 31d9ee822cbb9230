import type { TokenBuckets } from '@warder/foundation/http'
import type { Metrics } from '@warder/foundation/telemetry'
import type { SessionManager } from '../sessions/index.ts'
import type { Attempts, FailureCounter } from '../throttle/index.ts'
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
