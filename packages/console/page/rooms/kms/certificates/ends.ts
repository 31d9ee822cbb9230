import type { Reply } from '@warder/client/browser'

/** A certificate that ends, of an authority of this service or one of itself. */
export type End = Pick<Reply<'pki.certificates.list'>[number], 'id' | 'serial' | 'subject' | 'not_after'> & {
  /** The authority that issued it; of a root: itself. */
  readonly authority: { readonly id: string; readonly subject: string }
  readonly renewal: 'automatic' | 'replaced' | 'none'
}

/** A week or a month (UTC) in which certificates end. */
export interface Interval {
  /** The first day: `2026-11-23`. */
  readonly first: string
  /** The last day. */
  readonly last: string
  readonly ends: readonly End[]
}

const dayMs = 86_400_000
const toDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** @returns Unix milliseconds of the first day of the week (Monday) or month, and of the next one */
function findInterval(at: number, step: 'week' | 'month'): readonly [from: number, to: number] {
  const day = new Date(at)
  const [year, month] = [day.getUTCFullYear(), day.getUTCMonth()]
  if (step === 'month') return [Date.UTC(year, month), Date.UTC(year, month + 1)]
  const from = Date.UTC(year, month, day.getUTCDate() - ((day.getUTCDay() + 6) % 7))
  return [from, from + 7 * dayMs]
}

/** All weeks or months from one time to another one, also those in which nothing ends. */
export function toIntervals(
  ends: readonly End[],
  { from, to, step }: { readonly from: number; readonly to: number; readonly step: 'week' | 'month' },
): readonly Interval[] {
  const intervals: Interval[] = []
  for (let at = from; at <= to; ) {
    const [start, next] = findInterval(at, step)
    const inside = ends.filter(({ not_after: end }) => {
      const time = Date.parse(end)
      return time >= start && time < next
    })
    intervals.push({ first: toDay(start), last: toDay(next - dayMs), ends: inside })
    at = next
  }
  return intervals
}
