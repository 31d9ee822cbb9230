import { type Change, change, type Database, hasTable, query } from '@warder/storage'
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
