import {
  type Change,
  change,
  type Database,
  hasTable,
  query,
  type Seal,
  type SealContext,
} from '@warder/storage'

interface Row {
  readonly record: Uint8Array
  readonly version: number
}

/** `settings`: those in force since the last start. `reset`: their removal, until a start has audited it. */
type GovernanceRecord = 'settings' | 'reset'

const find = query<[id: string], Row>('SELECT record, version FROM governance WHERE id = ?')
const insert = query<[id: string, record: Uint8Array], unknown>(
  'INSERT INTO governance (id, record, version) VALUES (?, ?, 1) ON CONFLICT DO NOTHING',
)
const replace = query<[record: Uint8Array, id: string, version: number], unknown>(
  'UPDATE governance SET record = ?, version = version + 1 WHERE id = ? AND version = ?',
)
const remove = query<[id: string, version: number], unknown>(
  'DELETE FROM governance WHERE id = ? AND version = ?',
)

const place = (id: GovernanceRecord): SealContext => ({ table: 'governance', row: id, column: 'record' })

function sealRecord(seal: Seal, id: GovernanceRecord, value: object): Uint8Array {
  return seal.seal(place(id), Buffer.from(JSON.stringify(value)))
}

/** false: no version of the service that records settings has used the database. */
export function hasGovernance(db: Database): Promise<boolean> {
  return hasTable(db, 'governance')
}

/** @throws when the record is not one that this service wrote */
export async function findGovernance<T>(
  db: Database,
  seal: Pick<Seal, 'open'>,
  id: GovernanceRecord = 'settings',
): Promise<{ readonly value: T; readonly version: number } | undefined> {
  const row = await db.get(find, [id])
  if (row === undefined) return undefined
  const text = Buffer.from(await seal.open(place(id), row.record)).toString('utf8')
  return { value: JSON.parse(text) as T, version: row.version }
}

/** Fails when another node was faster. */
export function firstGovernance(seal: Seal, value: object, id: GovernanceRecord = 'settings'): Change {
  return change(insert, [id, sealRecord(seal, id, value)], 1)
}

export function replaceGovernance(seal: Seal, value: object, version: number): Change {
  return change(replace, [sealRecord(seal, 'settings', value), 'settings', version], 1)
}

/** Fails when it is not there any more. */
export function removeGovernance(id: GovernanceRecord, version: number): Change {
  return change(remove, [id, version], 1)
}
