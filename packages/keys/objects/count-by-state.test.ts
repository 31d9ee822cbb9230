import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bothEngines, kmsMigrations } from '@warder/kms/testing'
import {
  change,
  type Database,
  insertInto,
  migrate,
  type Query,
  query,
  type SqlValue,
  sealMigrations,
} from '@warder/storage'
import { countByState } from './count-by-state-store.ts'

const columns = [
  ...['id', 'object_type', 'state', 'owner', 'usage_mask', 'created_at', 'changed_at', 'form', 'version'],
]
const insert = insertInto<readonly SqlValue[]>('managed_object', columns)

/** Makes so many objects in each state, their ids in turn. */
async function fill(db: Database, counts: Readonly<Record<string, number>>): Promise<void> {
  const states = Object.entries(counts).flatMap(([state, count]) => Array<string>(count).fill(state))
  await db.commit(
    states.map((state, index) => {
      const id = `${(index * 7919) % 10_007}`.padStart(6, '0')
      return change(insert, [id, 'SymmetricKey', state, 'alice', 0, 0, 0, '{}', 1])
    }),
  )
}

for (const { name, skip, url, open } of await bothEngines())
  test(`objects are counted by state in batches along an index on ${name}`, { skip }, async () => {
    const db = await open(await url())
    await migrate(db, 'seal', sealMigrations)
    await migrate(db, 'kms', kmsMigrations)
    assert.deepEqual(await countByState(db), {})
    const counts = { Active: 23, Compromised: 8, Destroyed: 1, PreActive: 4 }
    await fill(db, counts)
    const asked = new Set<Query<readonly SqlValue[], unknown>>()
    const watched: Database = {
      ...db,
      get(statement, params) {
        asked.add(statement)
        return db.get(statement, params)
      },
      all: () => assert.fail('nothing reads many rows'),
    }
    for (const step of [1, 2, 4, 5, 36, 37, 10_000])
      assert.deepEqual(await countByState(watched, step), counts, `${step} at a time`)
    assert.equal(asked.size, 4)
    if (db.dialect !== 'sqlite') return
    for (const { text } of asked) {
      const explain = query<readonly SqlValue[], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${text}`)
      const values = text
        .replaceAll(/[^?]/g, '')
        .split('')
        .map(() => 'x')
      const plan = await db.all(explain, values)
      assert.deepEqual(
        plan.map(({ detail }) => /^SEARCH .* USING COVERING INDEX /.test(detail)),
        [true],
        text,
      )
    }
  })
