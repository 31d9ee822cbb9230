import { setTimeout } from 'node:timers/promises'
import { StartupError } from '@warder/base'
import type { LogKeys } from './encrypted-bytes.ts'
import { type ExportFormat, formatRecord, listRecordFiles, type RecordFilter } from './export.ts'
import { readLines } from './lines.ts'
import { LogReader, parseSeq } from './reader.ts'

export interface TailOptions extends RecordFilter {
  /** A log folder. */
  readonly folder: string
  readonly format: ExportFormat
  /** How many of those that are there. */
  readonly lines: number
  /** For encrypted files. */
  readonly keys?: LogKeys | undefined
}

const pollMs = 250
const maxRecords = 1000
const maxLength = 1_048_576

/**
 * The last records of a log that fit, the oldest of them first; with a signal also those that are written from then
 * on, until it aborts.
 * @throws StartupError at a line that is not a record
 */
export async function* tailAudit(options: TailOptions, follow?: AbortSignal): AsyncGenerator<string> {
  const { lines, last } = await readLastRecords(options)
  yield* lines
  if (follow === undefined) return
  const reader = new LogReader(options.folder, last, options.keys)
  while (!follow.aborted) {
    const records = await reader.next(maxRecords, maxLength)
    for (const { line } of records) {
      const written = formatRecord(line, options)
      if (written !== undefined && written !== '') yield written
    }
    if (records.length === 0) await setTimeout(pollMs, undefined, { signal: follow }).catch(() => undefined)
  }
}

/** @returns `last`: the number of the last record, whether it fits or not */
async function readLastRecords(
  options: TailOptions,
): Promise<{ readonly lines: readonly string[]; readonly last: number }> {
  let lines: string[] = []
  let last = 0
  for (const path of listRecordFiles(options.folder).toReversed()) {
    const fileLines: string[] = []
    for await (const { bytes, whole } of readLines(path, { keys: options.keys })) {
      if (!whole) break
      const text = bytes.toString('utf8')
      const written = formatRecord(text, options)
      if (written === undefined)
        throw new StartupError(`${path}: a line is not a record: run warder audit verify`)
      if (lines.length === 0) last = Math.max(last, parseSeq(text) ?? 0)
      if (written !== '') fileLines.push(written)
      if (fileLines.length > options.lines) fileLines.shift()
    }
    lines = [...fileLines, ...lines].slice(-options.lines)
    if (lines.length >= options.lines) break
  }
  return { lines, last }
}
