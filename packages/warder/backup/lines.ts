import { pipeline, Readable } from 'node:stream'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import { StartupError } from '@warder/base'
import type { ServiceName } from '@warder/command-line/endpoints'
import type { CopiedSchema } from '@warder/runtime/launch'
import type { CopiedRow, CopiedTable } from '@warder/storage'

/** The backup is invalid, or its sender is refused. */
export class BackupRefused extends StartupError {}

/** Lines of a backup (JSON), in this order. Bytes are base64. */
export type BackupLine =
  | {
      readonly kind: 'backup'
      readonly warder: string
      /** RFC 3339. */
      readonly made_at: string
      readonly root_key: boolean
      readonly audit: boolean
    }
  /** A part of a file of the home; `first` marks the first part. */
  | {
      readonly kind: 'file'
      readonly path: string
      readonly mode: number
      readonly first: boolean
      readonly data: string
    }
  | {
      readonly kind: 'database'
      readonly service: ServiceName
      readonly schema: CopiedSchema
      /** The last record of the audit log when the copy began. */
      readonly audit_head: AuditHead | null
    }
  | ({ readonly kind: 'table' } & CopiedTable)
  /** Rows of the preceding table. */
  | { readonly kind: 'rows'; readonly rows: readonly (readonly CopiedValue[])[] }
  /** The last line: without it the backup is incomplete. */
  | { readonly kind: 'end'; readonly files: number; readonly rows: number }

export interface AuditHead {
  readonly seq: number
  readonly hash: string
}

type CopiedValue = string | number | null | { readonly bytes: string }

/** Target length of a line of rows; a single larger row exceeds it. */
const rowsLength = 1024 * 1024
const maxLineBytes = 256 * 1024 * 1024

/** Encodes rows as lines of about one megabyte. */
export function* encodeRows(rows: readonly CopiedRow[]): Generator<BackupLine> {
  let some: (readonly CopiedValue[])[] = []
  let length = 0
  for (const row of rows) {
    const values = row.map((value) =>
      value instanceof Uint8Array ? { bytes: Buffer.from(value).toString('base64') } : value,
    )
    length += row.reduce<number>(
      (sum, value) => sum + (typeof value === 'number' ? 8 : (value?.length ?? 4)),
      0,
    )
    some.push(values)
    if (length < rowsLength) continue
    yield { kind: 'rows', rows: some }
    some = []
    length = 0
  }
  if (some.length > 0) yield { kind: 'rows', rows: some }
}

export function decodeRows({
  rows,
}: {
  readonly rows: readonly (readonly CopiedValue[])[]
}): readonly CopiedRow[] {
  return rows.map((row) =>
    row.map((value) =>
      typeof value === 'object' && value !== null ? Buffer.from(value.bytes, 'base64') : value,
    ),
  )
}

/** Compresses lines (zstd, RFC 8878). */
export function compressLines(lines: AsyncIterable<BackupLine>): AsyncIterable<Uint8Array> {
  const text = async function* (): AsyncGenerator<string> {
    for await (const line of lines) yield `${JSON.stringify(line)}\n`
  }
  const compressed = createZstdCompress()
  pipeline(Readable.from(text()), compressed, () => undefined)
  return compressed
}

/** @throws BackupRefused for an invalid line; the caller checks that the end line is there */
export async function* readLines(compressed: AsyncIterable<Uint8Array>): AsyncGenerator<BackupLine> {
  const plain = createZstdDecompress()
  pipeline(Readable.from(compressed, { objectMode: false }), plain, () => undefined)
  let parts: Buffer[] = []
  let length = 0
  for await (const chunk of plain as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield parseLine(Buffer.concat([...parts, chunk.subarray(start, end)]))
      parts = []
      length = 0
      start = end + 1
    }
    parts.push(chunk.subarray(start))
    length += chunk.length - start
    if (length > maxLineBytes) throw new BackupRefused('a line of the backup is too long')
  }
  if (length > 0) throw new BackupRefused('the last line of the backup is incomplete')
}

function parseLine(line: Buffer): BackupLine {
  try {
    return JSON.parse(line.toString('utf8')) as BackupLine
  } catch {
    throw new BackupRefused('a line of the backup is not JSON')
  }
}
