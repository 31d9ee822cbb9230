import assert from 'node:assert/strict'
import { test } from 'node:test'
import { query } from '@warder/storage'
import { bothEngines, type Engine } from '../testing/engines.ts'
import { interruptible } from '../testing/interruptible.ts'
import { startKms } from '../testing/start.ts'

const data = Buffer.from('attack at dawn').toString('base64url')

async function world(engine: Engine) {
  const own = await engine.open(await engine.url())
  const { db, beforeCommit } = interruptible(own)
  const kms = await startKms({ db, config: { cache_lease_ms: 0 } })
  const alice = kms.user('alice')
  return {
    kms,
    alice,
    before: beforeCommit,
    make: async () =>
      (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json.kid as string,
    rotate: (kid: string) => alice.post(`/v1/crypto/keys/${kid}/rotate`, {}),
    remove: (kid: string) => alice.del(`/v1/crypto/keys/${kid}`),
    encrypt: (kid: string) => alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data }),
    newest: async (kid: string) => (await alice.get(`/v1/crypto/keys/${kid}`)).json.version,
    count: async (sql: string, ...ids: readonly string[]) =>
      (await own.get(query<readonly string[], { readonly count: number }>(sql), ids))?.count,
  }
}

const readKid = (jwe: { readonly protected: string }): string =>
  JSON.parse(Buffer.from(jwe.protected, 'base64url').toString()).kid
const listRows = 'SELECT COUNT(*) AS count FROM managed_object WHERE id = ? OR chain_id = ?'
const listAliases = 'SELECT COUNT(*) AS count FROM key_alias WHERE key_id = ?'
const path = '/v1/crypto/aliases'

for (const engine of await bothEngines()) {
  test(`${engine.name}: the later of two concurrent rotations is refused, and creates no second version`, {
    skip: engine.skip,
  }, async () => {
    const { kms, before, make, rotate, newest } = await world(engine)
    await using _ = kms
    const kid = await make()
    for (const version of [2, 3]) {
      before(() => rotate(kid))
      assert.equal((await rotate(kid)).status, 409)
      assert.equal(await newest(kid), version)
    }
  })

  test(`${engine.name}: a rotation during the destruction of its key leaves no version`, {
    skip: engine.skip,
  }, async () => {
    const { kms, before, make, rotate, remove, count } = await world(engine)
    await using _ = kms
    for (const rotated of [false, true]) {
      const [one, other] = [await make(), await make()]
      if (rotated) for (const kid of [one, other]) await rotate(kid)
      before(() => remove(one))
      assert.equal((await rotate(one)).status, 404)
      assert.equal(await count(listRows, one, one), 0)
      before(() => rotate(other))
      const gone = await remove(other)
      // A caller who destroyed a key without versions gets a conflict if it has some; no part of a key is left.
      assert.ok(gone.status === 204 || gone.status === 409, gone.text)
      assert.equal(await count(listRows, other, other), gone.status === 204 ? 0 : 2)
    }
  })

  test(`${engine.name}: concurrent moves of an alias are applied one after the other, or refused`, {
    skip: engine.skip,
  }, async () => {
    const { kms, alice, before, make, encrypt } = await world(engine)
    await using _ = kms
    const [one, two, three] = [await make(), await make(), await make()]
    await alice.post(path, { alias: 'ledger', kid: one })
    const move = (kid: string, from?: string) =>
      alice.call('PUT', `${path}/ledger`, { json: { kid, ...(from !== undefined && { from }) } })
    const meant = async () => (await alice.get(`${path}/ledger`)).json.kid
    before(() => move(two))
    assert.equal((await move(three, one)).status, 409, 'it stands for another key than it was asked of')
    assert.equal(await meant(), two)
    before(() => move(one))
    assert.equal((await move(three)).status, 200)
    assert.equal(await meant(), three)
    before(() => move(two))
    assert.equal((await alice.del(`${path}/ledger`)).status, 204)
    const record = kms.audit.findLast(({ operation }) => operation === 'crypto.aliases.delete')
    assert.equal(record?.object, two, 'the record names the key that it stood for at its end')
    assert.equal((await encrypt('alias/ledger')).status, 404)
  })

  test(`${engine.name}: a request uses the key that its alias named when it began`, {
    skip: engine.skip,
  }, async () => {
    const { kms, alice, before, make, encrypt } = await world(engine)
    await using _ = kms
    const [one, two] = [await make(), await make()]
    await alice.post(path, { alias: 'ledger', kid: one })
    // Its first encryption asks for messages of the key, which is a commit.
    before(() => alice.call('PUT', `${path}/ledger`, { json: { kid: two } }))
    const made = await encrypt('alias/ledger')
    assert.equal(made.status, 200, made.text)
    assert.equal(readKid(made.json), one)
    assert.equal((await alice.post('/v1/crypto/decrypt', made.json)).json.data, data)
    assert.equal(readKid((await encrypt('alias/ledger')).json), two)
    // Rotated and removed by the alias: the key that it stood for, never the one after.
    before(() => alice.call('PUT', `${path}/ledger`, { json: { kid: one } }))
    assert.equal((await alice.post('/v1/crypto/keys/alias%2Fledger/rotate', {})).json.kid, two)
    before(() => alice.call('PUT', `${path}/ledger`, { json: { kid: two } }))
    assert.equal((await alice.del('/v1/crypto/keys/alias%2Fledger')).status, 204)
    assert.deepEqual(
      await Promise.all([one, two].map(async (kid) => (await alice.get(`/v1/crypto/keys/${kid}`)).status)),
      [404, 200],
    )
  })

  test(`${engine.name}: no alias names a key that was destroyed meanwhile`, {
    skip: engine.skip,
  }, async () => {
    const { kms, alice, before, make, remove, count } = await world(engine)
    await using _ = kms
    const [one, two, kept] = [await make(), await make(), await make()]
    before(() => remove(one))
    assert.equal((await alice.post(path, { alias: 'late', kid: one })).status, 404)
    await alice.post(path, { alias: 'ledger', kid: kept })
    before(() => remove(two))
    assert.equal((await alice.call('PUT', `${path}/ledger`, { json: { kid: two } })).status, 404)
    assert.equal((await alice.get(`${path}/ledger`)).json.kid, kept)
    for (const kid of [one, two]) assert.equal(await count(listAliases, kid), 0)
  })
}
