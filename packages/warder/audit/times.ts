import { UsageError } from '../cli/command.ts'

/** Unix milliseconds. @throws UsageError */
export function timeNamed(option: string, value: string): number {
  const time = Date.parse(value)
  if (Number.isNaN(time))
    throw new UsageError(`--${option} is a time like 2026-11-21T00:00:00Z, not '${value}'`)
  return time
}
