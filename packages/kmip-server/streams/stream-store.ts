import {
  type Change,
  change,
  type Database,
  insertInto,
  query,
  type Seal,
  type SealContext,
} from '@warder/storage'

/** An operation that comes in parts. Times in Unix milliseconds. */
export interface StreamRow {
  readonly id: string
  readonly owner: string
  /** Empty for operations without a key. */
  readonly object_id: string
  readonly operation: string
  readonly parts: number
  readonly bytes: number
  /** A new value with every part, which identifies the cached cipher. */
  readonly tip: string
  /** Bytes of earlier parts that were processed again. */
  readonly replayed: number
  readonly expires_at: number
}

const columns = [
  'id',
  'owner',
  'object_id',
  'operation',
  'parts',
  'bytes',
  'tip',
  'replayed',
  'expires_at',
] as const
const find = query<[id: string, owner: string, now: number], StreamRow>(
  `SELECT ${columns.join(', ')} FROM kmip_stream WHERE id = ? AND owner = ? AND expires_at > ?`,
)
const count = query<[owner: string, now: number], { readonly n: number }>(
  'SELECT COUNT(*) AS n FROM kmip_stream WHERE owner = ? AND expires_at > ?',
)
const parts = query<[id: string, limit: number], { readonly data: Uint8Array }>(
  'SELECT data FROM kmip_stream_part WHERE stream_id = ? ORDER BY part LIMIT ?',
)
const part = query<[id: string, part: number], { readonly data: Uint8Array }>(
  'SELECT data FROM kmip_stream_part WHERE stream_id = ? AND part = ?',
)
const open = insertInto<
  [
    id: string,
    owner: string,
    objectId: string,
    operation: string,
    parts: number,
    bytes: number,
    tip: string,
    replayed: number,
    expiresAt: number,
  ]
>('kmip_stream', columns)
const insertPart = insertInto<[id: string, part: number, data: Uint8Array]>('kmip_stream_part', [
  'stream_id',
  'part',
  'data',
])
const grow = query<
  [bytes: number, tip: string, replayed: number, expiresAt: number, id: string, parts: number],
  unknown
>(
  `UPDATE kmip_stream SET parts = parts + 1, bytes = bytes + ?, tip = ?, replayed = ?, expires_at = ?
     WHERE id = ? AND parts = ?`,
)
const close = query<[id: string, parts: number], unknown>(
  'DELETE FROM kmip_stream WHERE id = ? AND parts = ?',
)
const removeParts = query<[id: string], unknown>('DELETE FROM kmip_stream_part WHERE stream_id = ?')
const sweepParts = query<[now: number], unknown>(
  'DELETE FROM kmip_stream_part WHERE stream_id IN (SELECT id FROM kmip_stream WHERE expires_at <= ?)',
)
const sweep = query<[now: number], unknown>('DELETE FROM kmip_stream WHERE expires_at <= ?')

function place(id: string, part: number): SealContext {
  return { table: 'kmip_stream_part', row: `${id}/${part}`, column: 'data' }
}

/** The stream with this id, if it belongs to `owner` and has not expired. */
export async function findStream(
  db: Database,
  id: string,
  owner: string,
  now: number,
): Promise<StreamRow | undefined> {
  return db.get(find, [id, owner, now])
}

/** Open streams of `owner`. */
export async function openStreams(db: Database, owner: string, now: number): Promise<number> {
  return (await db.get(count, [owner, now]))?.n ?? 0
}

/** The earlier parts in order, decrypted. The caller wipes them. */
export async function readParts(db: Database, seal: Seal, row: StreamRow): Promise<readonly Uint8Array[]> {
  const rows = await db.all(parts, [row.id, row.parts])
  return Promise.all(rows.map(({ data }, index) => seal.open(place(row.id, index), data)))
}

/** The first part, decrypted. */
export async function readFirstPart(
  db: Database,
  seal: Seal,
  { id }: StreamRow,
): Promise<Uint8Array | undefined> {
  const row = await db.get(part, [id, 0])
  return row === undefined ? undefined : seal.open(place(id, 0), row.data)
}

/** A new stream with its first part; expired streams are deleted at the same time. */
export function openChanges(seal: Seal, row: StreamRow, first: Uint8Array, now: number): Change[] {
  const { id, owner, object_id, operation, parts, bytes, tip, replayed, expires_at } = row
  return [
    change(sweepParts, [now]),
    change(sweep, [now]),
    change(open, [id, owner, object_id, operation, parts, bytes, tip, replayed, expires_at], 1),
    change(insertPart, [id, 0, seal.seal(place(id, 0), first)], 1),
  ]
}

/** The next part, guarded by the number of parts that were read. @param grown length added to the stream */
export function growChanges(
  seal: Seal,
  row: StreamRow,
  part: Uint8Array,
  grown: Pick<StreamRow, 'bytes' | 'tip' | 'replayed' | 'expires_at'>,
): Change[] {
  const { id, parts } = row
  return [
    change(grow, [grown.bytes, grown.tip, grown.replayed, grown.expires_at, id, parts], 1),
    change(insertPart, [id, parts, seal.seal(place(id, parts), part)], 1),
  ]
}

/** The end of a stream, with the same guard. */
export function closeChanges({ id, parts }: StreamRow): Change[] {
  return [change(close, [id, parts], 1), change(removeParts, [id])]
}
