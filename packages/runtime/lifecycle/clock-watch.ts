import { type AuditEvent, createOwnEvent } from '@warder/audit'
import type { Clock, Logger, Metrics } from '@warder/base'

const checkEveryMs = 5_000
/** More than NTP corrects in one step, and more than delays of a busy machine. */
const minJumpMs = 30_000

export interface ClockWatch {
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  record(event: AuditEvent): void
  /** Default: 5 s. */
  readonly everyMs?: number
}

/**
 * Records jumps of the wall clock while the service runs, since dates of keys and sessions depend on it. A suspended machine
 * looks the same. The service continues.
 * @returns a function that stops the watch
 */
export function watchClock({ clock, log, metrics, record, everyMs = checkEveryMs }: ClockWatch): () => void {
  let offset = clock.now() - clock.monotonic()
  let seen = clock.now()
  const timer = setInterval(() => {
    const now = clock.now()
    const jump = now - clock.monotonic() - offset
    if (Math.abs(jump) >= minJumpMs) {
      const details = { from: formatTime(seen), to: formatTime(now), seconds: Math.round(jump / 1000) }
      metrics.count('clock_jumps_total', { direction: jump > 0 ? 'ahead' : 'back' })
      log.warn(
        details,
        'the clock of this machine jumped, and sessions and dates of keys depend on it. If it is wrong now, set it, and check the audit log for the time in between',
      )
      record({ ...createOwnEvent(now, 'clock.jumped'), details })
      offset += jump
    }
    seen = now
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

function formatTime(time: number): string {
  return new Date(time).toISOString()
}
