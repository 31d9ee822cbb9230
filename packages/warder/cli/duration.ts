import { UsageError } from './usage-error.ts'

const units: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 }

/** Reads a duration like `30d`. @returns milliseconds @throws UsageError */
export function readDuration(name: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,5})([hdw])$/.exec(text) ?? []
  const length = Number(number) * (units[unit] ?? 0)
  if (length === 0) throw new UsageError(`--${name} must be a duration like 30d, 2w or 12h, not '${text}'`)
  return length
}
