import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRowCache } from './cache.ts'
import { query } from './query.ts'
import type { Database } from './types.ts'

const lease = 1000

/** A cache on PostgreSQL, its rows in memory. While it is held, what was read arrives only after `release`. */
function fixture(capacity = 10) {
  const rows = new Map([...'abc'].map((key) => [key, { version: 1, value: 'Active' }]))
  let told: (key: string | undefined) => void = () => undefined
  let time = 0
  let gate: PromiseWithResolvers<void> | undefined
  const arriving = async <T>(read: T): Promise<T> => {
    await gate?.promise
    return read
  }
  const db = {
    dialect: 'postgresql',
    watch(_topic: string, listener: typeof told) {
      told = listener
      return () => undefined
    },
    get: (_statement: unknown, [key]: [string]) => arriving(rows.get(key)),
  } as unknown as Database
  const cache = createRowCache<string>({
    db,
    topic: 'thing',
    version: query('SELECT version FROM thing WHERE id = ?'),
    load: (key) => arriving(rows.get(key)),
    capacity,
    leaseMs: lease,
    clock: { now: () => time, monotonic: () => time },
  })
  return {
    cache,
    hold() {
      gate = Promise.withResolvers()
    },
    release() {
      gate?.resolve()
      gate = undefined
    },
    pass(ms: number) {
      time += ms
    },
    write(value: string) {
      rows.set('a', { version: (rows.get('a')?.version ?? 0) + 1, value })
    },
    announce: (key: string | undefined) => told(key),
  }
}

for (const [announced, what] of [
  ['a', 'its change'],
  [undefined, 'that anything may have changed'],
] as const) {
  test(`a row that was being loaded when ${what} was announced is not kept`, async () => {
    const { cache, hold, release, write, announce } = fixture()
    hold()
    const early = cache.get('a')
    write('Revoked')
    announce(announced)
    const late = cache.get('a')
    release()
    assert.deepEqual([await early, await late], ['Active', 'Revoked'])
    assert.equal(await cache.get('a'), 'Revoked')
  })

  test(`a row whose version was being read when ${what} was announced is read again`, async () => {
    const { cache, hold, release, pass, write, announce } = fixture(3)
    for (const key of 'abc') await cache.get(key)
    pass(lease)
    hold()
    const early = cache.get('a')
    write('Revoked')
    announce(announced)
    release()
    assert.equal(await early, 'Revoked')
    assert.equal(await cache.get('a'), 'Revoked')
  })
}

test('the lease begins before the version is read, not when it arrives', async () => {
  const { cache, hold, release, pass, write } = fixture()
  await cache.get('a')
  pass(lease)
  hold()
  const early = cache.get('a')
  write('Revoked')
  pass(lease)
  release()
  assert.equal(await early, 'Active')
  assert.equal(await cache.get('a'), 'Revoked')
})
