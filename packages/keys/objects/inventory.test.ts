import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bothEngines, kmsMigrations } from '@warder/kms/testing'
import { change, type Database, migrate, query, sealMigrations } from '@warder/storage'
import fc from 'fast-check'
import { ObjectAttributes } from '../attributes/object-attributes.ts'
import { inventoryPage } from './inventory-store.ts'
import { type InventoryCursor, type InventoryFilter, isWalk } from './inventory-walk-store.ts'
import { type ManagedObject, newObjectDefaults } from './managed-object.ts'
import { addTagChanges } from './name-link-tag-store.ts'
import type { ObjectId } from './object-id.ts'
import { insertObject, toParameters } from './object-row-store.ts'
import { type State, stateAt, states } from './state-machine.ts'

const dayMs = 86_400_000
const today = 20_000
const now = today * dayMs + 1000

interface Sample {
  readonly object: ManagedObject
  readonly tags: readonly string[]
  readonly lastUsedDay: number | undefined
}

const moment = fc.constantFrom(undefined, now - 2 * dayMs, now - 1000, now + 1000, now + 5 * dayMs)
const sample = fc.record({
  owner: fc.constantFrom('alice', 'bob'),
  algorithm: fc.constantFrom('AES', 'RSA'),
  boundAlg: fc.constantFrom(undefined, 'A256GCM'),
  type: fc.constantFrom('SymmetricKey', 'PublicKey'),
  state: fc.constantFrom(...states),
  activationAt: moment,
  deactivationAt: moment,
  disabledAt: fc.constantFrom(undefined, undefined, now - 5),
  destructionAt: fc.constantFrom(undefined, undefined, now + 5),
  createdDay: fc.integer({ min: today - 6, max: today }),
  usedDay: fc.constantFrom(undefined, today - 5, today - 1, today),
  tags: fc.uniqueArray(fc.constantFrom('red', 'green'), { maxLength: 2 }),
})

const bound = fc.integer({ min: -6, max: 6 }).map((days) => now + days * dayMs)
const range = fc.option(fc.record({ from: bound, before: bound }), { nil: undefined })
const filters: fc.Arbitrary<InventoryFilter> = fc.record({
  owner: fc.constantFrom(undefined, 'alice', 'nobody'),
  tag: fc.constantFrom(undefined, undefined, 'red', 'blue'),
  algorithm: fc.constantFrom(undefined, undefined, 'RSA'),
  boundAlg: fc.constantFrom(undefined, undefined, 'A256GCM'),
  type: fc.constantFrom(undefined, undefined, 'PublicKey'),
  excludedType: fc.constantFrom(undefined, undefined, 'PublicKey', 'Certificate'),
  state: fc.constantFrom<State | undefined>(undefined, undefined, ...states),
  disabled: fc.constantFrom(undefined, undefined, true, false),
  awaitsDestruction: fc.constantFrom(undefined, undefined, true, false),
  created: range,
  rotated: range,
  ends: range,
  usedDay: fc.option(
    fc.record({
      from: fc.integer({ min: today - 6, max: today + 1 }),
      before: fc.integer({ min: today - 6, max: today + 1 }),
    }),
    { nil: undefined },
  ),
})

/** Meaning of the filter, without a database. */
function meets({ object, tags, lastUsedDay }: Sample, filter: InventoryFilter): boolean {
  const same = <T>(wanted: T | undefined, is: T | undefined): boolean => wanted === undefined || wanted === is
  const within = (wanted: InventoryFilter['ends'], at: number): boolean =>
    wanted === undefined || (at >= wanted.from && at < wanted.before)
  return (
    same(filter.owner, object.owner) &&
    (filter.tag === undefined || tags.includes(filter.tag)) &&
    same(filter.algorithm, object.algorithm) &&
    same(filter.boundAlg, object.boundAlg) &&
    same(filter.type, object.type) &&
    filter.excludedType !== object.type &&
    same(filter.state, stateAt(object, now)) &&
    same(filter.disabled, object.disabledAt !== undefined) &&
    same(filter.awaitsDestruction, object.destructionAt !== undefined) &&
    within(filter.created, object.createdAt) &&
    within(filter.rotated, object.createdAt) &&
    (filter.ends === undefined ||
      (object.deactivationAt !== undefined && within(filter.ends, object.deactivationAt))) &&
    within(filter.usedDay, lastUsedDay ?? Math.floor(object.createdAt / dayMs))
  )
}

const deleteAll = ['managed_object', 'object_tag'].map((table) => query<[]>(`DELETE FROM ${table}`))
const use = query<[day: number, id: string]>('UPDATE managed_object SET last_used_day = ? WHERE id = ?')

async function store(db: Database, samples: readonly Sample[]): Promise<void> {
  await db.commit([
    ...deleteAll.map((statement) => change(statement, [])),
    ...samples.flatMap(({ object, tags, lastUsedDay }) => [
      change(insertObject, toParameters(object, undefined)),
      ...addTagChanges(object.id, tags),
      ...(lastUsedDay === undefined ? [] : [change(use, [lastUsedDay, object.id])]),
    ]),
  ])
}

async function walked(
  db: Database,
  filter: InventoryFilter,
  limit: number,
  between: (page: number) => Promise<void> = async () => undefined,
): Promise<string[]> {
  const ids: string[] = []
  let place: InventoryCursor | undefined
  for (let page = 0; page < 100; page++) {
    const { keys, next } = await inventoryPage(db, filter, place, limit, now)
    assert.ok(keys.length <= limit)
    ids.push(...keys.map(({ key }) => key.id))
    if (next === undefined) return ids
    place = next
    await between(page)
  }
  throw new Error('the list does not end')
}

function sampleOf(index: number, members: object): ManagedObject {
  return {
    ...newObjectDefaults,
    id: `key-${String(index).padStart(4, '0')}` as ObjectId,
    type: 'SymmetricKey',
    algorithm: 'AES',
    bits: 256,
    curve: undefined,
    boundAlg: undefined,
    state: 'Active',
    owner: 'alice',
    usageMask: 0,
    linkedId: undefined,
    createdAt: now,
    changedAt: now,
    activationAt: now,
    form: {},
    attributes: ObjectAttributes.none,
    version: 1,
    ...members,
  }
}

const always = { from: Number.MIN_SAFE_INTEGER, before: Number.MAX_SAFE_INTEGER }

/**
 * Writes down the pages that SQLite would not read along one index from their first row to their last: they would take the
 * longer the more keys there are.
 */
function watched(db: Database, unbounded: string[]): Database {
  if (db.dialect !== 'sqlite') return db
  return {
    ...db,
    async all(statement, params) {
      if (statement.text.includes('AS version_kid')) {
        const explain = query<typeof params, { readonly detail: string }>(
          `EXPLAIN QUERY PLAN ${statement.text}`,
        )
        const plan = (await db.all(explain, params)).map(({ detail }) => detail)
        const [walk = ''] = plan
        const isBounded =
          /^SEARCH .*(?:>.* AND .*<|<expr>=\? AND id>\?)/.test(walk) &&
          !plan.some((line) => line.includes('B-TREE'))
        if (!isBounded) unbounded.push(walk)
      }
      return db.all(statement, params)
    },
  }
}

for (const engine of await bothEngines()) {
  const open = async (): Promise<Database> => {
    const db = await engine.open(await engine.url())
    await migrate(db, 'seal', sealMigrations)
    await migrate(db, 'kms', kmsMigrations)
    return db
  }

  test(`every filter finds its keys, in pages of every size, on ${engine.name}`, {
    skip: engine.skip,
  }, async () => {
    const db = await open()
    await fc.assert(
      fc.asyncProperty(
        fc.array(sample, { maxLength: 12 }),
        fc.array(filters, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 5 }),
        async (all, asked, limit) => {
          const samples = all.map(({ createdDay, usedDay, tags, ...members }, index): Sample => {
            const createdAt = createdDay * dayMs + index
            return { object: sampleOf(index, { ...members, createdAt }), tags, lastUsedDay: usedDay }
          })
          await store(db, samples)
          for (const filter of asked) {
            const expected = samples.filter((one) => meets(one, filter)).map(({ object }) => object.id)
            const found = await walked(db, filter, limit)
            assert.deepEqual(found.toSorted(), expected, JSON.stringify(filter))
          }
        },
      ),
      { numRuns: 40 },
    )
  })

  test(`with more keys than a page scans each index leads to the few requested ones, on ${engine.name}`, {
    skip: engine.skip,
  }, async () => {
    const db = await open()
    const samples = Array.from({ length: 2100 }, (_, index): Sample => {
      const rare = index % 700 === 5
      const object = sampleOf(index, {
        createdAt: rare ? now - 9 * dayMs : now,
        ...(rare && {
          algorithm: 'RSA',
          state: 'Compromised',
          deactivationAt: now + 1,
          disabledAt: now,
          destructionAt: now,
        }),
      })
      return { object, tags: rare ? ['red'] : [], lastUsedDay: rare ? undefined : today }
    })
    for (let from = 0; from < samples.length; from += 500)
      await db.commit(
        samples
          .slice(from, from + 500)
          .flatMap(({ object, tags, lastUsedDay }) => [
            change(insertObject, toParameters(object, undefined)),
            ...addTagChanges(object.id, tags),
            ...(lastUsedDay === undefined ? [] : [change(use, [lastUsedDay, object.id])]),
          ]),
      )
    const old = { from: 0, before: now - dayMs }
    for (const owner of ['alice', undefined])
      for (const filter of [
        { tag: 'red' },
        { algorithm: 'RSA' },
        { state: 'Compromised' },
        { ends: { from: now, before: now + 10 } },
        { disabled: true },
        { awaitsDestruction: true },
        { created: old },
        { rotated: old },
        { usedDay: { from: 0, before: today - 3 } },
      ] as const) {
        const { keys, next } = await inventoryPage(db, { owner, ...filter }, undefined, 10, now)
        assert.deepEqual(
          [keys.map(({ key }) => key.id), next],
          [['key-0005', 'key-0705', 'key-1405'], undefined],
          JSON.stringify(filter),
        )
      }
    // Rows that no index leads to are found in pages that are not full.
    const first = await inventoryPage(db, { owner: 'alice', boundAlg: 'none' }, undefined, 10, now)
    assert.deepEqual(first.keys, [])
    assert.ok(first.next !== undefined)
    assert.deepEqual(await walked(db, { owner: 'alice', boundAlg: 'none' }, 10), [])
    // Lists in the order of a date, over several pages that are looked at to their end.
    const ranges = { created: always, rotated: always, usedDay: always }
    const unbounded: string[] = []
    for (const [name, range] of Object.entries(ranges)) {
      const all = await walked(watched(db, unbounded), { owner: undefined, [name]: range }, 60)
      assert.deepEqual(
        all.toSorted(),
        samples.map(({ object }) => object.id),
        name,
      )
      const none = { owner: undefined, boundAlg: 'none', [name]: range }
      assert.deepEqual(await walked(watched(db, unbounded), none, 60), [], name)
    }
    assert.deepEqual(unbounded, [])
  })

  test(`keys created and removed between pages do not shift others, on ${engine.name}`, {
    skip: engine.skip,
  }, async () => {
    const db = await open()
    const samples = Array.from({ length: 40 }, (_, index): Sample => {
      return { object: sampleOf(index * 10, {}), tags: [], lastUsedDay: undefined }
    })
    await store(db, samples)
    const remove = query<[string]>('DELETE FROM managed_object WHERE id = ?')
    const found = await walked(db, { owner: 'alice' }, 5, async (page) => {
      // A listed key is removed, a key appears before the listed ones, and one behind them.
      await db.commit([
        change(remove, [`key-${String(page * 10).padStart(4, '0')}`]),
        change(insertObject, toParameters(sampleOf(page * 10 + 1, {}), undefined)),
        change(insertObject, toParameters(sampleOf(page * 10 + 98, {}), undefined)),
      ])
    })
    assert.equal(new Set(found).size, found.length, 'none twice')
    for (const { object } of samples) assert.ok(found.includes(object.id), object.id)
  })
}

test('a cursor has only known orders', () => {
  for (const name of ['owner', 'used', 'rotated']) assert.equal(isWalk(name), true)
  for (const name of ['constructor', '__proto__', 'x', 1, undefined, null, {}])
    assert.equal(isWalk(name), false)
})
