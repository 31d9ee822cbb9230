import { readDuration } from '../cli/duration.ts'
import { UsageError } from '../cli/usage-error.ts'

/**
 * Parses a time (RFC 3339) or an age (`90d`).
 * @returns Unix milliseconds
 * @throws UsageError
 */
export function parseTime(option: string, value: string, now = Date.now()): number {
  if (/^\d+[a-z]$/.test(value)) return now - readDuration(option, value)
  const time = Date.parse(value)
  if (Number.isNaN(time))
    throw new UsageError(
      `--${option} must be a time like 2026-11-21T00:00:00Z, or an age like 90d, not '${value}'`,
    )
  return time
}
