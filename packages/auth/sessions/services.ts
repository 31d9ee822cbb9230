import type { Database } from '@warder/foundation/sql'
import type { Metrics } from '@warder/foundation/telemetry'
import type { SessionManager } from './session-manager.ts'

/** Services used by operations on sessions. */
export interface SessionServices {
  readonly db: Database
  readonly metrics: Metrics
  /** Unix seconds. */
  now(): number
  readonly sessions: SessionManager
}
