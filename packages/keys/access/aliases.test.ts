import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { bothEngines, startKms, startTwoNodes } from '@warder/kms/testing'
import type { Database } from '@warder/storage'
import fc from 'fast-check'
import { asObjectId } from '../objects/object-id.ts'
import { fullForm, ownForm, parseAlias, readOwnAlias } from './alias-name.ts'
import { aliasId } from './alias-store.ts'

const engines = await bothEngines()
const path = '/v1/crypto/aliases'
const data = 'eA'
const kidOf = (jwe: { readonly protected: string }): string =>
  JSON.parse(Buffer.from(jwe.protected, 'base64url').toString()).kid

for (const engine of engines) {
  test(`${engine.name}: an alias that moved on one node is moved on the other`, {
    skip: engine.skip,
  }, async () => {
    await using nodes = await startTwoNodes(engine)
    const near = nodes.near.user('alice')
    const far = nodes.onFar('alice')
    const [one, two] = await Promise.all(
      ['A256GCM', 'A256GCM'].map(
        async (alg) => (await near.post('/v1/crypto/keys', { kty: 'oct', alg })).json.kid,
      ),
    )
    await near.post(path, { alias: 'a', kid: one })
    const used = async () =>
      kidOf((await far.post('/v1/crypto/encrypt', { kid: 'alias/a', alg: 'dir', enc: 'A256GCM', data })).json)
    assert.equal(await used(), one)
    await near.call('PUT', `${path}/a`, { json: { kid: two } })
    assert.equal(await used(), two)
    // Both nodes move it at once: each move is whole, and the last one stands.
    const moves = await Promise.all(
      [near, far, near, far].map((who, at) =>
        who.call('PUT', `${path}/a`, { json: { kid: at % 2 === 0 ? one : two } }),
      ),
    )
    assert.ok(moves.every(({ status }) => status === 200))
    assert.equal(await used(), (await near.get(`${path}/a`)).json.kid)
    // Two make it at once: one does.
    await near.del(`${path}/a`)
    const made = await Promise.all([near, far].map((who) => who.post(path, { alias: 'a', kid: one })))
    assert.deepEqual(made.map(({ status }) => status).sort(), [200, 409])
    // It is made while its key goes: either it leads to a key, or it is not there.
    await Promise.all([near.post(path, { alias: 'b', kid: two }), far.del(`/v1/crypto/keys/${two}`)])
    assert.equal((await near.get(`${path}/b`)).status, 404)
  })
}

test('PostgreSQL: nodes with a cache lease learn of an alias that is moved, deleted and created', {
  skip: engines.find(({ name }) => name === 'PostgreSQL')?.skip ?? false,
}, async () => {
  const engine = engines.find(({ name }) => name === 'PostgreSQL')
  assert.ok(engine)
  const url = await engine.url()
  const rootKey = randomBytes(32)
  const config = { cache_lease_ms: 60_000 }
  await using one = await startKms({ db: await engine.open(url), rootKey, config })
  const auth_verifier_jwks = `file:${join(one.home, 'jwks.json')}`
  const db = await engine.open(url)
  await using other = await startKms({ db, rootKey, config: { ...config, auth_verifier_jwks } })
  const near = one.user('alice')
  const far = other.with({ authorization: `Bearer ${one.token({ sub: 'alice' })}` })
  const make = async () => (await near.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json.kid
  const [first, second] = [await make(), await make()]
  const used = async () => {
    const { status, json } = await far.post('/v1/crypto/encrypt', {
      kid: 'alias/a',
      alg: 'dir',
      enc: 'A256GCM',
      data,
    })
    return status === 200 ? kidOf(json) : status
  }
  /** Long before the lease ends. */
  const soon = async (expected: unknown) => {
    const until = performance.now() + 20_000
    let found = await used()
    while (found !== expected && performance.now() < until) found = await used()
    assert.equal(found, expected)
  }
  await near.post(path, { alias: 'a', kid: first })
  await soon(first)
  await near.call('PUT', `${path}/a`, { json: { kid: second } })
  await soon(second)
  await near.del(`${path}/a`)
  await soon(404)
  await near.post(path, { alias: 'a', kid: first })
  await soon(first)
})

/** The database, with a count of its reads. */
function counting(db: Database): { readonly db: Database; reads: number } {
  const counted = {
    reads: 0,
    db: {
      ...db,
      get(...args: Parameters<Database['get']>) {
        counted.reads += 1
        return db.get(...args)
      },
      all(...args: Parameters<Database['all']>) {
        counted.reads += 1
        return db.all(...args)
      },
    } as Database,
  }
  return counted
}

for (const engine of engines) {
  test(`${engine.name}: a cached alias needs no database statement`, { skip: engine.skip }, async () => {
    const watched = counting(await engine.open(await engine.url()))
    await using kms = await startKms({ db: watched.db, config: { cache_lease_ms: 60_000 } })
    const alice = kms.user('alice')
    const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'HS256' })).json
    await alice.post(path, { alias: 'cheap', kid })
    const cost = async (named: string): Promise<number> => {
      const mac = () => alice.post('/v1/crypto/mac', { kid: named, alg: 'HS256', data })
      assert.equal((await mac()).status, 200)
      const costs: number[] = []
      // PostgreSQL announces the commits above when it likes: a late one makes a use load the row again, once each.
      for (let use = 0; use < 5; use++) {
        const before = watched.reads
        await mac()
        costs.push(watched.reads - before)
      }
      return Math.min(...costs)
    }
    assert.equal(await cost('alias/cheap'), await cost(kid))
  })
}

test('property: every text is a valid alias or not, and formatting and parsing agree', () => {
  const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}(\/[A-Za-z0-9][A-Za-z0-9._-]{0,20})?$/)
  const owner = fc.string({ minLength: 1, maxLength: 60, unit: 'grapheme' })
  fc.assert(
    fc.property(name, owner, (name, owner) => {
      fc.pre(!/\p{Cc}/u.test(owner))
      const alias = { owner, name }
      assert.deepEqual(parseAlias(fullForm(alias), 'somebody'), alias)
      assert.deepEqual(parseAlias(ownForm(alias), owner), alias)
      assert.deepEqual(readOwnAlias(name, owner), alias)
    }),
  )
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, other) => {
      const [first, second] = [one, other].map((text) => parseAlias(`alias/${text}`, 'me'))
      if (first !== undefined && second !== undefined && aliasId(first) === aliasId(second))
        assert.deepEqual(first, second)
      assert.equal(parseAlias(one, 'me') !== undefined && !one.startsWith('alias/'), false)
    }),
  )
})

test('a name that cannot be an alias is looked up as an identifier', () => {
  for (const text of ['alias/', 'alias/a b', 'alias/x@', 'alias/é', 'alias//x', 'ALIAS/x']) {
    assert.equal(parseAlias(text, 'me'), undefined, text)
    assert.equal(asObjectId(text), text)
  }
})
