import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import {
  type Change,
  change,
  type Database,
  hasTable,
  query,
  type Seal,
  type SealContext,
} from '@warder/storage'
import type { ChainHead } from './record.ts'

const table = 'audit_head'
const upsert = query<[log: string, seq: number, hash: string]>(
  `INSERT INTO ${table} (log, seq, hash) VALUES (?, ?, ?) ON CONFLICT (log) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`,
)
const byLog = query<[log: string], ChainHead>(`SELECT seq, hash FROM ${table} WHERE log = ?`)

/** Stores the number and hash of the last record that is on disk. */
export function rememberHead(log: string, { seq, hash }: ChainHead): Change {
  return change(upsert, [log, seq, hash])
}

/** undefined = the database has never seen this log. */
export async function findRememberedHead(db: Database, log: string): Promise<ChainHead | undefined> {
  return (await hasTable(db, table)) ? db.get(byLog, [log]) : undefined
}

/** A node that writes a log with this database. */
export interface AuditNodeRow {
  readonly log: string
  readonly node: string
  /** URL for other nodes; empty = not published. */
  readonly address: string
  /** The last record that the database knows of its log. */
  readonly seq: number | null
  readonly hash: string | null
}

const nodeTable = 'audit_node'
const upsertNode = query<[log: string, node: string, address: string, now: number]>(
  `INSERT INTO ${nodeTable} (log, node, address, started_at) VALUES (?, ?, ?, ?) ON CONFLICT (log) DO UPDATE SET node = excluded.node, address = excluded.address, started_at = excluded.started_at`,
)
const allNodes = query<[limit: number], AuditNodeRow>(
  `SELECT n.log, n.node, n.address, h.seq, h.hash FROM ${nodeTable} n LEFT JOIN ${table} h ON h.log = n.log ORDER BY n.node, n.log LIMIT ?`,
)
const deleteNode = query<[log: string]>(`DELETE FROM ${nodeTable} WHERE log = ?`)
const insertKey = query<[id: number, sealed: Uint8Array]>(
  'INSERT INTO audit_node_key (id, sealed) VALUES (?, ?) ON CONFLICT (id) DO NOTHING',
)
const keyById = query<[id: number], { readonly sealed: Uint8Array }>(
  'SELECT sealed FROM audit_node_key WHERE id = ?',
)
const keyContext: SealContext = { table: 'audit_node_key', row: '1', column: 'sealed' }
const maxAuditNodes = 1000

/** Tells the other nodes of this one, in a commit that also makes the key of the nodes when there is none. */
export function rememberNode(
  { log, node, address }: Pick<AuditNodeRow, 'log' | 'node' | 'address'>,
  now: number,
  seal: Seal,
): readonly Change[] {
  return [
    change(upsertNode, [log, node, address, now]),
    change(insertKey, [1, seal.seal(keyContext, randomBytes(32))]),
  ]
}

/** Its log is not searched any more. What the database knows of the end of that log stays: the node may start again. */
export function forgetNode(log: string): Change {
  return change(deleteNode, [log])
}

/** The nodes that were started with this database and not forgotten since. */
export async function listAuditNodes(db: Database): Promise<readonly AuditNodeRow[]> {
  return (await hasTable(db, nodeTable)) ? db.all(allNodes, [maxAuditNodes]) : []
}

/** The key by which nodes of this database prove to each other that they belong together; undefined = there is none. */
export async function readNodeKey(db: Database, seal: Pick<Seal, 'open'>): Promise<KeyObject | undefined> {
  const row = (await hasTable(db, nodeTable)) ? await db.get(keyById, [1]) : undefined
  if (row === undefined) return undefined
  return createSecretKey(Buffer.from(await seal.open(keyContext, row.sealed)))
}
