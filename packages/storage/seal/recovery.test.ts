import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Secret, systemClock } from '@warder/base'
import { migrate } from '../sql/migrate.ts'
import { change, query } from '../sql/query.ts'
import { openSqlite } from '../sql/sqlite.ts'
import type { Database } from '../sql/types.ts'
import { createShareSet } from './create-share-set.ts'
import {
  createRecovery,
  createRootKeyRecord,
  findRecoverableKey,
  findRecoverySet,
  listRootKeyRecords,
} from './recovery.ts'
import type { RootKey } from './root-key.ts'
import { moveToFile, moveToKey, moveToShares, rotateRootKey } from './rotate.ts'
import { openSeal } from './seal.ts'
import { findRecoveryRow, removeRootKeyRecord, sealMigrations } from './seal-store.ts'
import { ShareCollection } from './share-collection.ts'
import type { ShareSet } from './share-set.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-recovery-'))
const opened: Database[] = []
after(async () => {
  for (const db of opened) await db.close()
  rmSync(folder, { recursive: true, force: true })
})

const key = (byte: number): RootKey => ({
  kind: 'key',
  from: `key ${byte}`,
  key: new Secret(Buffer.alloc(32, byte)),
})
const passphrase: RootKey = {
  kind: 'passphrase',
  from: 'words',
  passphrase: Secret.fromText('a long passphrase'),
}
const place = { table: 't', row: 'r', column: 'c' }

async function makeSet() {
  const holders = ['anna', 'ben', 'carl'].map((name) => ({ name, recipient: `age1${name}` }))
  return createShareSet({ installation: 'test', threshold: 2, holders, now: 0 })
}

/** A database with a sealed value. */
async function makeDatabase(root: RootKey) {
  const db = openSqlite({ path: join(folder, `${opened.length}.db`) })
  opened.push(db)
  await migrate(db, 'seal', sealMigrations)
  const seal = await openSeal({ db, service: 'kms', rootKeys: [root], clock: systemClock })
  const sealed = seal.seal(place, Buffer.from('x'))
  return { db, sealed, databases: [{ db, service: 'kms' }] }
}

async function recover(db: Database, shares: readonly string[]): Promise<RootKey> {
  const { set, open } = await findRecoverableKey(db, 'kms')
  const collection = new ShareCollection(set)
  for (const share of shares.slice(1)) assert.ok(collection.add(share).accepted)
  return open(await collection.combine())
}

async function opens(db: Database, root: RootKey, sealed: Uint8Array): Promise<void> {
  const seal = await openSeal({ db, service: 'kms', rootKeys: [root], clock: systemClock })
  assert.equal(Buffer.from(await seal.open(place, sealed)).toString(), 'x')
}

const create = (db: Database, set: ShareSet, root: RootKey) =>
  createRecovery(set, { db, service: 'kms', rootKeys: [root] }, [])

test('a recovery set opens the database of a key and of a passphrase, and after every change of the root key', async () => {
  for (const root of [key(1), passphrase]) {
    const { db, sealed, databases } = await makeDatabase(root)
    const { set, shares } = await makeSet()
    await create(db, set, root)
    assert.deepEqual(await findRecoverySet(db), set)
    await opens(db, await recover(db, shares), sealed)
    await rotateRootKey(root, key(2), { databases })
    await opens(db, await recover(db, shares), sealed)
    const options = { databases, now: 0 }
    await moveToKey(passphrase, 'passphrase', { ...options, readOld: async () => [key(2)] })
    await opens(db, await recover(db, shares), sealed)
    await moveToFile(join(folder, `root-${opened.length}.key`), {
      ...options,
      readOld: async () => [passphrase],
    })
    const recovered = await recover(db, shares)
    await opens(db, recovered, sealed)
    const other = await makeSet()
    await moveToShares(other.set, { ...options, readOld: async () => [recovered] })
    await opens(db, await recover(db, shares), sealed)
    assert.deepEqual(await findRecoverySet(db), set)
  }
})

test('another set replaces the one before, whose shares open nothing', async () => {
  const { db, sealed } = await makeDatabase(key(1))
  const [before, fresh] = [await makeSet(), await makeSet()]
  await create(db, before.set, key(1))
  await create(db, fresh.set, key(1))
  await assert.rejects(async () => recover(db, before.shares))
  await opens(db, await recover(db, fresh.shares), sealed)
})

test('a set that another wrote into the database is not given the next root key', async () => {
  const { db, databases, sealed } = await makeDatabase(key(1))
  const [{ set }, attacker] = [await makeSet(), await makeSet()]
  await create(db, set, key(1))
  const row = JSON.parse(Buffer.from((await findRecoveryRow(db)) ?? []).toString())
  const changed = Buffer.from(JSON.stringify({ ...row, ...attacker.set }))
  const update = query<[Uint8Array], unknown>('UPDATE root_key_recovery SET wrapped = ?')
  await db.commit([change(update, [changed], 1)])
  await assert.rejects(
    rotateRootKey(key(1), key(2), { databases }),
    /was not written under its root key.*recovery create/,
  )
  await opens(db, key(1), sealed)
  await create(db, set, key(1))
  await rotateRootKey(key(1), key(2), { databases })
  await opens(db, key(2), sealed)
})

test('a set needs the root key, and there is none without one', async () => {
  const { db } = await makeDatabase(key(1))
  const { set } = await makeSet()
  await assert.rejects(findRecoverableKey(db, 'kms'), /has no recovery set: only the source/)
  await assert.rejects(create(db, set, key(9)), /wrong root key: key 9/)
  assert.equal(await findRecoverySet(db), undefined)
})

test('records for the audit log join the commit, and cannot be written without the root key', async () => {
  const { db } = await makeDatabase(key(1))
  const { set } = await makeSet()
  const seal = await openSeal({ db, service: 'kms', rootKeys: [key(1)], clock: systemClock })
  const record = { operation: 'root_key.recovery_created', at: 5, details: { by: 'root' } }
  await createRecovery(set, { db, service: 'kms', rootKeys: [key(1)] }, [createRootKeyRecord(seal, record)])
  const [found] = await listRootKeyRecords(db, seal)
  assert.deepEqual({ ...found, id: '' }, { ...record, id: '' })
  await db.commit([removeRootKeyRecord(found?.id ?? '')])
  assert.deepEqual(await listRootKeyRecords(db, seal), [])
  const forged = query<[string, Uint8Array], unknown>(
    'INSERT INTO root_key_record (id, record) VALUES (?, ?)',
  )
  await db.commit([change(forged, ['x', Buffer.alloc(80)], 1)])
  await assert.rejects(listRootKeyRecords(db, seal))
})
