import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { kmipClient, uid } from '@warder/kmip-server/testing'
import {
  change,
  type Database,
  insertInto,
  migrate,
  query,
  type SqlValue,
  sealMigrations,
} from '@warder/storage'
import { kmsMigrations } from '../service/migrations.ts'
import { bothEngines } from './engines.ts'
import { type Started, startKms } from './start.ts'

type Cell = string | number | null | { readonly base64: string }

/** Written by the service as it was with schema version 3. */
interface OldDatabase {
  readonly ids: Readonly<Record<string, string>>
  readonly data: string
  readonly jwes: Readonly<Record<string, unknown>>
  readonly signature: Readonly<Record<string, unknown>>
  readonly tables: Readonly<Record<string, readonly Readonly<Record<string, Cell>>[]>>
}

const old = JSON.parse(
  readFileSync(new URL('./fixtures/schema-3.json', import.meta.url), 'utf8'),
) as OldDatabase
const id = (name: string): string => old.ids[name] ?? ''

const allObjects = query<[]>('SELECT * FROM managed_object ORDER BY id')

async function fill(db: Database): Promise<void> {
  await migrate(db, 'seal', sealMigrations)
  await migrate(
    db,
    'kms',
    kmsMigrations.filter(({ number }) => number <= 3),
  )
  for (const [table, rows] of Object.entries(old.tables)) {
    if (table === 'schema_migration') continue
    for (const row of rows) {
      const values = Object.values(row).map(
        (cell): SqlValue =>
          cell !== null && typeof cell === 'object' ? Buffer.from(cell.base64, 'base64') : cell,
      )
      await db.commit([change(insertInto(table, Object.keys(row)), values)])
    }
  }
}

async function started(db: Database): Promise<Started> {
  return startKms({ db, rootKey: Buffer.alloc(32, 7) })
}

for (const engine of await bothEngines()) {
  test(`a database of schema version 3 opens, is migrated and works on ${engine.name}`, {
    skip: engine.skip,
  }, async () => {
    const db = await engine.open(await engine.url())
    await fill(db)
    await using kms = await started(db)
    const rest = kms.user('alice')
    const kmip = kmipClient(rest)
    for (const [kid, jwe] of Object.entries(old.jwes))
      assert.equal((await rest.post('/v1/crypto/decrypt', jwe)).json.data, old.data, kid)
    const verified = await rest.post('/v1/crypto/verify', { ...old.signature, data: old.data })
    assert.equal(verified.json.valid, true, verified.text)
    const encrypts = async (name: string): Promise<number> => {
      const request = { kid: id(name), alg: 'dir', enc: 'A256GCM', data: old.data }
      return (await rest.post('/v1/crypto/encrypt', request)).status
    }
    assert.equal(await encrypts('plain'), 200)
    // Of three uses one was taken before the migration.
    assert.deepEqual([await encrypts('limited'), await encrypts('limited')], [200, 200])
    assert.equal(await encrypts('limited'), 422)
    assert.equal(await encrypts('stopped'), 422)
    assert.equal(await encrypts('later'), 200)
    assert.equal(await encrypts('archived'), 422)
    await kmip.fails('Get', [uid(id('kept'))], 'NotExtractable')
    await kmip.fails('Get', [uid(id('secret'))], 'NotExtractable')
    await kmip.do('Recover', [uid(id('archived'))])
    assert.equal(await encrypts('archived'), 200)
    const told = await kmip.ask('GetAttributes', [uid(id('stopped'))])
    const values = JSON.stringify(told.payload, (_name, value) =>
      typeof value === 'bigint' ? `${value}` : value,
    )
    for (const kept of ['"stopped"', '"second name"', '2000000']) assert.ok(values.includes(kept), kept)
  })

  test(`the migration can be interrupted, and run by two nodes at once, on ${engine.name}`, {
    skip: engine.skip,
  }, async () => {
    const url = await engine.url()
    const db = await engine.open(url)
    await fill(db)
    const other = await engine.open(url)
    await Promise.all([migrate(db, 'kms', kmsMigrations), migrate(other, 'kms', kmsMigrations)])
    const rows = () => db.all(allObjects, [])
    const before = await rows()
    for (const { convert } of kmsMigrations) await convert?.(db)
    assert.deepEqual(await rows(), before)
  })
}
