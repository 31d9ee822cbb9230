import { hash } from 'node:crypto'
import { canonicalJson } from './canonical.ts'
import type { AuditEvent } from './types.ts'

/** The first `prev` of a log. */
export const genesis = '0'.repeat(64)

/** Longest free text of a record; longer ones end with the marker. */
const longestText = 1024
const longestDetails = 16_384
const marker = '…'

/**
 * The canonical record in the parts between which the writer puts `node`, `prev`, `seq` and `service`. Members stand
 * in RFC 8785 order: algorithm … details, duration_ms | node | object … outcome | prev | principal … request_id |
 * seq | service | status, time. A worker makes the parts, so that the writer only joins them and hashes once.
 */
export interface PreparedRecord {
  readonly beforeNode: string
  readonly beforePrev: string
  readonly beforeSeq: string
  readonly afterService: string
}

export function prepareRecord(event: AuditEvent): PreparedRecord {
  return {
    beforeNode:
      algorithm(event.algorithm) +
      authMethod(event.auth_method) +
      clientIp(event.client_ip) +
      details(event.details) +
      `"duration_ms":${roundedDuration(event.duration_ms)},`,
    beforePrev: `${object(event.object)}${operation(event.operation)}"outcome":"${event.outcome}",`,
    beforeSeq:
      principal(event.principal) +
      realm(event.realm) +
      reason(event.reason) +
      text('request_id', event.request_id),
    afterService: `"status":${Math.trunc(event.status) || 0},"time":"${isoTime(event.time)}"`,
  }
}

export interface ChainPlace {
  readonly seq: number
  readonly prev: string
}

/** The line of a record (with its newline) and its hash: SHA-256 over `prev` and the canonical record. */
export function chainRecord(
  record: PreparedRecord,
  place: ChainPlace,
  fixed: { readonly node: string; readonly service: string },
): { readonly line: string; readonly hash: string } {
  // One text, made flat once by the hash: the line is a slice of it.
  const text =
    `${place.prev}{${record.beforeNode}"node":${fixed.node},${record.beforePrev}"prev":"${place.prev}",` +
    `${record.beforeSeq}"seq":${place.seq},"service":${fixed.service},${record.afterService}}`
  const digest = hash('sha256', text, 'hex')
  // The hash stands last: what comes before it, with a closing brace, is what was hashed.
  return { line: `${text.slice(place.prev.length, -1)},"hash":"${digest}"}\n`, hash: digest }
}

/** `hash` recomputed from a parsed record, whatever the order and spacing it was written in. */
export function hashOf(record: Readonly<Record<string, unknown>>): string {
  const { hash: _, ...rest } = record
  return hash('sha256', String(record.prev) + canonicalJson(rest), 'hex')
}

/** `"name":"value",` or nothing. Almost every text needs no escape and is not looked at twice. */
function text(name: string, value: string | undefined): string {
  return value === undefined ? '' : `"${name}":${quoted(value)},`
}

function quoted(value: string): string {
  return value.length <= longestText && plain.test(value) ? `"${value}"` : JSON.stringify(bounded(value))
}

/**
 * `text` of one member, which in records that follow each other is often the same: the last one is kept. Joined, it is
 * one piece of memory, while what `+` makes is put together anew by each record that holds it.
 */
function member(name: string): (value: string | undefined) => string {
  const before = `"${name}":`
  let lastValue: string | undefined
  let lastText = ''
  return (value) => {
    if (value === undefined) return ''
    if (value !== lastValue) {
      lastText = [before, quoted(value), ','].join('')
      lastValue = value
    }
    return lastText
  }
}

const algorithm = member('algorithm')
const authMethod = member('auth_method')
const clientIp = member('client_ip')
const object = member('object')
const operation = member('operation')
const principal = member('principal')
const realm = member('realm')
const reason = member('reason')

/** Printable ASCII without `"` and `\\`. */
const plain = /^[ !#-[\]-~]*$/

let knownTime = Number.NaN
let knownIso = ''

/** RFC 3339 with milliseconds; many records share one. */
function isoTime(time: number): string {
  if (time !== knownTime) {
    knownIso = new Date(time).toISOString()
    knownTime = time
  }
  return knownIso
}

function bounded(text: string): string {
  const whole = text.toWellFormed()
  return whole.length <= longestText ? whole : `${whole.slice(0, longestText - 1).toWellFormed()}${marker}`
}

function details(value: AuditEvent['details']): string {
  if (value === undefined) return ''
  const json = canonicalJson(boundedMembers(value, 0))
  return `"details":${json.length <= longestDetails ? json : '{"cut":true}'},`
}

function boundedMembers(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return bounded(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return typeof value === 'boolean' ? value : null
  if (depth >= 6) return marker
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => boundedMembers(item, depth + 1))
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  // Objects with a life of their own (secrets, dates) decide how they are written.
  if ('toJSON' in value && typeof value.toJSON === 'function')
    return boundedMembers(value.toJSON(), depth + 1)
  const members = Object.entries(value)
    .slice(0, 100)
    .filter(([, member]) => member !== undefined)
  return Object.fromEntries(
    members.map(([name, member]) => [bounded(name), boundedMembers(member, depth + 1)]),
  )
}

/** Microseconds are enough, and keep lines short. */
function roundedDuration(milliseconds: number): number {
  return Number.isFinite(milliseconds) ? Math.max(0, Math.round(milliseconds * 1000) / 1000) : 0
}
