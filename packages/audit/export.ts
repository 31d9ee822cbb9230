import { statSync } from 'node:fs'
import { escapeHidden, escapeUnits, StartupError } from '@warder/base'
import type { LogKeys } from './encrypted-bytes.ts'
import { readLines } from './lines.ts'
import { parseRecordJson } from './record.ts'
import { listSegments } from './segments.ts'

/** Selects records: every member that is set must match. */
export interface RecordFilter {
  /** Unix milliseconds, inclusive and exclusive. */
  readonly since?: number
  readonly until?: number
  readonly principal?: string
  /** Id of the object that the record is about. */
  readonly object?: string
  /** The whole name, or the beginning of one and `*`. */
  readonly operation?: string
  readonly outcome?: 'success' | 'failure'
}

export type ExportFormat = 'json' | 'cef'

export interface ExportOptions extends RecordFilter {
  /** A log folder, or one of its files. */
  readonly folder: string
  readonly format: ExportFormat
  /** For encrypted files. */
  readonly keys?: LogKeys | undefined
}

/**
 * The records of a log, including archived ones, one a line, unchanged (JSON) or as CEF:0 for a SIEM.
 * @throws StartupError at a line that is not a record, with its place
 */
export async function* exportAudit(options: ExportOptions): AsyncGenerator<string> {
  const paths = statSync(options.folder).isDirectory() ? listRecordFiles(options.folder) : [options.folder]
  for (const path of paths) yield* exportFile(path, options)
}

/** Files of a log with records, in their order. */
export function listRecordFiles(folder: string): readonly string[] {
  return listSegments(folder).flatMap(({ path }) => path ?? [])
}

/** The matching records of one file, in the export format. */
async function* exportFile(path: string, options: Omit<ExportOptions, 'folder'>) {
  let number = 0
  for await (const { bytes, whole, at, damage } of readLines(path, options)) {
    number += 1
    if (damage === 'changed')
      throw new StartupError(`${path} is damaged at offset ${at}: run warder audit verify`)
    // The last line without its end is being written right now.
    if (!whole) break
    const written = formatRecord(bytes.toString('utf8'), options)
    if (written === undefined)
      throw new StartupError(`${path}:${number}: the line is not a record: run warder audit verify`)
    if (written !== '') yield written
  }
}

/** @returns the record in the export format; empty when it does not match; undefined when the line is not a record */
export function formatRecord(
  line: string,
  options: RecordFilter & { readonly format: ExportFormat },
): string | undefined {
  const record = parse(line)
  if (record === undefined) return undefined
  if (!matchesFilter(record, options)) return ''
  return options.format === 'json' ? escapeHidden(line) : formatCef(record)
}

function matchesFilter(record: Readonly<Record<string, unknown>>, filter: RecordFilter): boolean {
  const time = Date.parse(String(record.time))
  if (filter.since !== undefined && time < filter.since) return false
  if (filter.until !== undefined && time >= filter.until) return false
  if (filter.principal !== undefined && record.principal !== filter.principal) return false
  if (filter.object !== undefined && record.object !== filter.object) return false
  if (filter.outcome !== undefined && record.outcome !== filter.outcome) return false
  return filter.operation === undefined || isOperation(String(record.operation), filter.operation)
}

function isOperation(name: string, wanted: string): boolean {
  return wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  let record: unknown
  try {
    record = parseRecordJson(line)
  } catch {
    return undefined
  }
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return undefined
  return record as Readonly<Record<string, unknown>>
}

/** ArcSight Common Event Format, version 0: header fields escape `|` and `\`, extension values `=`, `\` and newlines. */
export function formatCef(record: Readonly<Record<string, unknown>>): string {
  const head = (value: unknown): string =>
    escapeControls(
      String(value ?? '')
        .replaceAll(/[\\|]/g, '\\$&')
        .replaceAll(/[\r\n]+/g, ' '),
    )
  const extension = (value: unknown): string =>
    escapeControls(String(value).replaceAll(/[\\=]/g, '\\$&').replaceAll('\r', '\\r').replaceAll('\n', '\\n'))
  const failed = record.outcome !== 'success'
  const severity = failed ? (Number(record.status) >= 500 ? 8 : 6) : 3
  const members: readonly (readonly [string, unknown])[] = [
    ['rt', Date.parse(String(record.time))],
    ['src', record.client_ip],
    ['suser', record.principal],
    ['outcome', record.outcome],
    ['reason', record.reason],
    ['externalId', record.request_id],
    ['dvchost', record.node],
    ['cs1Label', record.object === undefined ? undefined : 'object'],
    ['cs1', record.object],
    ['cs2Label', record.realm === undefined ? undefined : 'realm'],
    ['cs2', record.realm],
    ['cn1Label', 'seq'],
    ['cn1', record.seq],
    ['cn2Label', 'status'],
    ['cn2', record.status],
    ['cs3Label', record.algorithm === undefined ? undefined : 'algorithm'],
    ['cs3', record.algorithm],
    ['cs4Label', 'auth_method'],
    ['cs4', record.auth_method],
    ['cn3Label', 'duration_ms'],
    ['cn3', record.duration_ms],
    ['msg', record.details === undefined ? undefined : escapeHidden(JSON.stringify(record.details))],
  ]
  const text = members
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${extension(value)}`)
  return `CEF:0|Warder|${head(record.service)}|1|${head(record.operation)}|${head(record.operation)}|${severity}|${text.join(' ')}`
}

/** Escapes control characters that CEF leaves as they are, since a terminal interprets them. */
function escapeControls(text: string): string {
  return escapeHidden(text).replace(/\p{Cc}/gu, escapeUnits)
}
