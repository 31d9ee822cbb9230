import type { NoticeSeverity } from './notices.ts'

/** A notice as it is sent. */
export interface OutgoingNotice {
  readonly id: string
  readonly event: string
  readonly severity: NoticeSeverity
  /** A sentence about the kind of event. */
  readonly text: string
  /** JSON. */
  readonly body: string
}

const maxValueLength = 500
const maxLines = 100
const maxMailLines = 1000

/** The text on one line: without control characters, and without those that change the appearance of others. */
export function printable(text: string, maxLength: number): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
  return line.length <= maxLength ? line : `${line.slice(0, maxLength - 1).toWellFormed()}…`
}

/**
 * A mail with notices. Headers contain only fixed texts, the names of service and node, and ids that we made: what
 * callers choose, such as names of keys, is in the body, one line for each value.
 */
export function formatMail(
  notices: readonly OutgoingNotice[],
  { service, node, now }: { readonly service: string; readonly node: string; readonly now: number },
) {
  const [first] = notices
  const about = notices.length === 1 ? (first?.text ?? '') : `${notices.length} notices`
  const urgent = notices.some(({ severity }) => severity === 'critical') ? '[critical] ' : ''
  const place = printable(node, 64).replaceAll(/[^!-~]/g, '_')
  const lines = notices.flatMap((notice) => [...formatNotice(notice), ''])
  const cut = lines.length > maxMailLines ? [`… ${lines.length - maxMailLines} more lines`, ''] : []
  return {
    subject: `${urgent}Warder ${service} on ${place}: ${about}`,
    messageId: `<${first?.id ?? '0'}@warder.invalid>`,
    date: new Date(now),
    headers: { 'auto-submitted': 'auto-generated' },
    text: [
      ...lines.slice(0, maxMailLines),
      ...cut,
      `Sent by the ${service} service of Warder on ${place}. A notice that was received before has the same id.`,
      '',
    ].join('\n'),
  }
}

function formatNotice({ id, event, severity, text, body }: OutgoingNotice): readonly string[] {
  const { event: _, ...fields } = JSON.parse(body) as Readonly<Record<string, unknown>>
  const lines = Object.entries(fields).flatMap(([name, value]) => formatField(name, value, 0))
  const cut = lines.length > maxLines ? ['  …'] : []
  const head = [
    `${text.charAt(0).toUpperCase()}${text.slice(1)}`,
    `  event: ${printable(event, 64)}`,
    `  severity: ${severity}`,
  ]
  return [...head, ...lines.slice(0, maxLines), ...cut, `  id: ${id}`]
}

function formatField(name: string, value: unknown, depth: number): readonly string[] {
  const label = `${'  '.repeat(depth + 1)}${printable(name, 64)}:`
  if (value === null || value === undefined || depth > 4) return []
  if (typeof value !== 'object') return [`${label} ${printable(String(value), maxValueLength)}`]
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object'))
    return [`${label} ${printable(value.join(', '), maxValueLength)}`]
  return [label, ...Object.entries(value).flatMap(([inner, part]) => formatField(inner, part, depth + 1))]
}
