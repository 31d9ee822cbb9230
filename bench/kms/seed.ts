import { createSecretKey, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '@warder/base'
import { grantChanges, newKeyObjects, usageMask } from '@warder/keys'
import { creationChanges } from '@warder/keys/testing'
import { type Change, loadRootKeys, openSeal, openSqlite, type SqlValue } from '@warder/storage'

export interface Seeded {
  /** Ids of keys that `user` owns, and of keys of others on which `user` may encrypt and decrypt. */
  readonly own: readonly string[]
  readonly granted: readonly string[]
  readonly seconds: number
}

const rowsOfTransaction = 20_000
const kept = 20_000

/**
 * Puts AES keys into the SQLite database of a home whose service is stopped: every second one belongs to `user`, the
 * others to a thousand owners who let `user` encrypt and decrypt; so there are as many grants as keys. The rows are
 * those that the service itself would write; only the way is shorter (one writer, no fsync until the end).
 */
export async function seedKeys(home: string, user: string, count: number): Promise<Seeded> {
  const began = performance.now()
  const path = join(home, 'kms.db')
  const db = openSqlite({ path })
  const source = { kind: 'file', path: join(home, 'root.key') } as const
  const rootKeys = loadRootKeys(source, process.env, { create: false })
  const seal = await openSeal({ db, rootKeys, service: 'kms', clock: systemClock })
  const file = new DatabaseSync(path)
  file.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -200000')
  const prepared = new Map<object, ReturnType<DatabaseSync['prepare']>>()
  const write = ({ query, params }: Change): void => {
    let statement = prepared.get(query)
    if (statement === undefined) {
      statement = file.prepare(query.text)
      prepared.set(query, statement)
    }
    statement.run(...(params as SqlValue[] as (string | number | Uint8Array | null)[]))
  }
  const mask = usageMask('encrypt', 'decrypt', 'wrapKey', 'unwrapKey')
  const own: string[] = []
  const granted: string[] = []
  const every = Math.max(1, Math.floor(count / kept / 2) * 2 + 1)
  for (let index = 0; index < count; index += 1) {
    if (index % rowsOfTransaction === 0) file.exec(index === 0 ? 'BEGIN' : 'COMMIT; BEGIN')
    const mine = index % 2 === 0
    const key = createSecretKey(randomBytes(32))
    const now = Date.now()
    const created = newKeyObjects(
      { owner: mine ? user : `owner ${index % 1000}`, boundAlg: 'A256GCM', now },
      [{ material: { kind: 'secret', algorithm: 'AES', bits: 256, key }, usageMask: mask, tags: [] }],
    )
    const changes = creationChanges(db, seal, created, now)
    const id = created[0]?.object.id ?? ''
    for (const change of changes) if (/^(INSERT|UPDATE)/.test(change.query.text)) write(change)
    if (!mine) for (const change of grantChanges(id, user, ['encrypt', 'decrypt'])) write(change)
    if (index % every < 2) (mine ? own : granted).push(id)
  }
  file.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)')
  file.close()
  await db.close()
  return { own, granted, seconds: (performance.now() - began) / 1000 }
}
