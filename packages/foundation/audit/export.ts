import { createReadStream, statSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { logFiles } from './folder.ts'

export interface ExportOptions {
  /** A log folder, or one of its files. */
  readonly folder: string
  readonly format: 'json' | 'cef'
  /** Unix milliseconds, inclusive and exclusive. */
  readonly since?: number
  readonly until?: number
}

/** The records of a log, one a line, as they stand (JSON) or as CEF:0 for a SIEM. */
export async function* exportAudit(options: ExportOptions): AsyncGenerator<string> {
  const files = statSync(options.folder).isDirectory() ? logFiles(options.folder) : [{ path: options.folder }]
  for (const { path } of files) {
    const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })
    for await (const line of lines) {
      const record = parse(line)
      if (record === undefined) continue
      const time = Date.parse(String(record.time))
      if (options.since !== undefined && time < options.since) continue
      if (options.until !== undefined && time >= options.until) continue
      yield options.format === 'json' ? line : cef(record)
    }
  }
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>
  } catch {
    return undefined // the line that is being written right now
  }
}

/** ArcSight Common Event Format, version 0: header fields escape `|` and `\`, extension values `=`, `\` and newlines. */
export function cef(record: Readonly<Record<string, unknown>>): string {
  const head = (value: unknown): string =>
    String(value ?? '')
      .replaceAll(/[\\|]/g, '\\$&')
      .replaceAll(/[\r\n]+/g, ' ')
  const extension = (value: unknown): string =>
    String(value).replaceAll(/[\\=]/g, '\\$&').replaceAll('\r', '\\r').replaceAll('\n', '\\n')
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
  ]
  const text = members
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${extension(value)}`)
  return `CEF:0|Warder|${head(record.service)}|1|${head(record.operation)}|${head(record.operation)}|${severity}|${text.join(' ')}`
}
