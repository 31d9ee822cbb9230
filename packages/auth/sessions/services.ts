import type { Metrics } from '@warder/base'
import type { Database } from '@warder/storage'
import type { SessionManager } from './session-manager.ts'

/** Services used by operations on sessions. */
export interface SessionServices {
  readonly db: Database
  readonly metrics: Metrics
  /** Unix seconds. */
  now(): number
  readonly sessions: SessionManager
}
