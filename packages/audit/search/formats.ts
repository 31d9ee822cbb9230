import { escapeHidden, escapeUnits } from '@warder/base'
import { formatCef } from '../export.ts'
import { type ParsedRecord, parseLine } from './terms.ts'

/** Content types of exports by their formats. */
export const recordFormats = {
  jsonl: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present',
  cef: 'text/plain; charset=utf-8',
} as const
export type RecordFormat = keyof typeof recordFormats

const columns = [
  ...['time', 'node', 'service', 'seq', 'operation', 'outcome', 'status', 'reason', 'principal'],
  ...['auth_method', 'realm', 'object', 'algorithm', 'client_ip', 'request_id', 'duration_ms', 'details'],
  ...['prev', 'hash'],
]

/** The first line of an export, with its end; empty for formats without one. */
export function formatHead(format: RecordFormat): string {
  return format === 'csv' ? `${columns.join(',')}\r\n` : ''
}

/** A record of the log in one line, with its end. */
export function formatRecordAs(format: RecordFormat, line: string): string {
  if (format === 'jsonl') return `${line}\n`
  const record = parseLine(line) ?? {}
  if (format === 'cef') return `${formatCef(record)}\n`
  return formatCsvRow(record)
}

/** A parsed record as a row of CSV, with its end. */
export function formatCsvRow(record: ParsedRecord): string {
  return `${columns.map((name) => formatCsvCell(record[name])).join(',')}\r\n`
}

const plainCell = /^[A-Za-z0-9][\w.:/-]*$/

/**
 * A cell of CSV (RFC 4180), always in quotes. Spreadsheets run a cell as a formula if it begins with `=`, `+`, `-`, `@`, a
 * tab or a carriage return. A `'` in front of such a value makes it text. Control characters are escaped as in JSON.
 */
export function formatCsvCell(value: unknown): string {
  if (value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // Fast path: most cells are names and ids.
  if (plainCell.test(text)) return `"${text}"`
  const visible = escapeHidden(text).replace(/\p{Cc}/gu, escapeUnits)
  const safe = /^[\s'"]*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r]/.test(text) ? `'${visible}` : visible
  return `"${safe.replaceAll('"', '""')}"`
}
