import { hash, randomUUID } from 'node:crypto'
import { escapeHidden } from '@warder/base'
import { canonicalJson, formatDetails, truncateText } from './details.ts'
import type { AuditEvent } from './types.ts'

/** The first `prev` of a log. */
export const genesis = '0'.repeat(64)

/** State of a chain: number and hash of its last record. */
export interface ChainHead {
  readonly seq: number
  readonly hash: string
}

/** State of an empty log. */
export const beginning: ChainHead = { seq: 0, hash: genesis }

/** Longest free text of a record; longer ones end with a note of their length and hash. */
const maxTextLength = 1024

/** The writer of a log: the same in all of its records. */
export interface RecordOrigin {
  readonly node: string
  readonly service: string
}

/**
 * Creates a function that formats the records of one origin: the canonical JSON with a line end, and a tab in the places
 * where the writer inserts `prev` and `seq`. Members are in RFC 8785 order: algorithm … outcome | prev | principal …
 * request_id | seq | service … time.
 */
export function createRecordMaker(origin: RecordOrigin): (event: AuditEvent) => string {
  const node = formatText('node', origin.node)
  const service = formatText('service', origin.service)
  // The common part of consecutive records is built once.
  const opening = memoizeLast((algorithm, authMethod, clientIp) =>
    [
      '{',
      formatText('algorithm', algorithm),
      formatText('auth_method', authMethod),
      formatText('client_ip', clientIp),
    ].join(''),
  )
  const middle = memoizeLast((object, operation, outcome) =>
    [
      `,${node}`,
      formatText('object', object),
      formatText('operation', operation),
      formatText('outcome', outcome),
      '"prev":"\t',
    ].join(''),
  )
  const principalAndReason = memoizeLast((principal, realm, reason) =>
    ['",', formatText('principal', principal), formatText('realm', realm), formatText('reason', reason)].join(
      '',
    ),
  )
  let knownStatus = Number.NaN
  let knownTime = Number.NaN
  let knownEnd = ''
  const ending = (status: number, time: number): string => {
    if (status === knownStatus && time === knownTime) return knownEnd
    knownStatus = status
    knownTime = time
    // RFC 3339 with milliseconds; many records share one.
    const at = new Date(time).toISOString()
    knownEnd = [`,${service}"status":`, Math.trunc(status) || 0, `,"time":"${at}"}\n`].join('')
    return knownEnd
  }
  return (event) => {
    const beforePrev =
      opening(event.algorithm, event.auth_method, event.client_ip) +
      formatDetailsMember(event.details) +
      `"duration_ms":${formatDuration(event.duration_ms)}` +
      middle(event.object, event.operation, event.outcome)
    const beforeSeq = `${principalAndReason(event.principal, event.realm, event.reason)}${formatText('request_id', event.request_id)}"seq":\t`
    return beforePrev + beforeSeq + ending(event.status, event.time)
  }
}

type Text = string | undefined

/** Remembers the result for the last arguments, as a flat string that records share. */
function memoizeLast(make: (a: Text, b: Text, c: Text) => string): (a: Text, b: Text, c: Text) => string {
  let last: readonly [Text, Text, Text] = [undefined, undefined, undefined]
  let made = make(...last)
  return (a, b, c) => {
    if (a !== last[0] || b !== last[1] || c !== last[2]) {
      last = [a, b, c]
      made = make(a, b, c)
    }
    return made
  }
}

/** Computes `hash` from a parsed record, independent of its order and spacing. */
export function computeHash(record: Readonly<Record<string, unknown>>): string {
  const { hash: _, ...rest } = record
  return hash('sha256', String(record.prev) + canonicalJson(rest), 'hex')
}

/** `"name":"value",` or nothing. Most texts need no escape, which one test finds. */
function formatText(name: string, value: string | undefined): string {
  if (value === undefined) return ''
  return value.length <= maxTextLength && plain.test(value)
    ? `"${name}":"${value}",`
    : `"${name}":${escapeHidden(JSON.stringify(truncateText(value, maxTextLength)))},`
}

/** Printable ASCII without `"` and `\\`. */
const plain = /^[ !#-[\]-~]*$/

function formatDetailsMember(value: AuditEvent['details']): string {
  return value === undefined ? '' : `"details":${formatDetails(value)},`
}

/** Milliseconds with three places at most, as ECMAScript writes them. Microseconds are enough, and keep lines short. */
function formatDuration(milliseconds: number): string {
  const micros = Math.round(milliseconds * 1000)
  if (!(micros > 0 && Number.isFinite(micros))) return '0'
  if (micros > maxMicros) return String(micros / 1000)
  const whole = Math.trunc(micros / 1000)
  const rest = micros - whole * 1000
  if (rest === 0) return String(whole)
  const zeros = rest < 10 ? '00' : rest < 100 ? '0' : ''
  return `${whole}.${zeros}${rest % 100 === 0 ? rest / 100 : rest % 10 === 0 ? rest / 10 : rest}`
}

/** A day. Small numbers become text much faster than fractions. */
const maxMicros = 86_400_000_000

/**
 * JSON.parse with correct member names: V8 14.6 can mistake a name that is written with an escape for the name that an
 * earlier text had after the same members (docs/adr/http-requests.md). Here each object of such a text begins with a
 * member that no object had before, which is removed again. For texts that may contain any name; those of callers are
 * refused instead.
 * @throws SyntaxError
 */
export function parseRecordJson(text: string): unknown {
  if (!text.includes('\\')) return JSON.parse(text)
  const mark = randomUUID()
  let objects = 0
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|\{\s*\}|\{/g, (token) =>
    token === '{' ? `{"${mark}${++objects}":0,` : token,
  )
  return JSON.parse(marked, (name, value) => (name.startsWith(mark) ? undefined : value))
}
