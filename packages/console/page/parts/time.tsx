import { texts } from '../texts.ts'

const absolute = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
const short = new Intl.DateTimeFormat('en-GB', { dateStyle: 'short', timeStyle: 'short' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

function formatRelative(ms: number): string {
  const seconds = Math.round(ms / 1000)
  const [unit, size] = units.find(([, each]) => Math.abs(seconds) >= each) ?? units[5]
  return relative.format(Math.trunc(seconds / size), unit)
}

/**
 * A moment, absolute and relative.
 * @param props.at milliseconds, or RFC 3339; undefined: never
 */
export function Time({
  at,
  isShort = false,
}: {
  readonly at: number | string | undefined
  readonly isShort?: boolean
}) {
  if (at === undefined) return <span className="quiet">{texts.parts.never}</span>
  const moment = new Date(at)
  const text = isShort ? short.format(moment) : absolute.format(moment)
  return (
    <time dateTime={moment.toISOString()}>
      {text} {!isShort && <span className="quiet">{formatRelative(moment.getTime() - Date.now())}</span>}
    </time>
  )
}
