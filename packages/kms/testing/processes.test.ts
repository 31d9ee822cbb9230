import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findObject, lifeCycleChanges, maxInvocations, type ObjectId, type State } from '@warder/keys'
import { query } from '@warder/storage'
import type { Caller } from './client.ts'
import { grant } from './client.ts'
import { bothEngines } from './engines.ts'
import { createSite, type ServiceProcess } from './process.ts'

// Services in separate processes, as operators start them, on one database.

const data = Buffer.from('attack at dawn').toString('base64url')
/** The default of `cache_lease_ms`: how long a destroyed key may still work on another node. */
const leaseMs = 1000

const encryptWith = (kid: string) => ({ kid, alg: 'dir', enc: 'A256GCM', data })

async function make(who: Caller, body: object = { kty: 'oct', alg: 'A256GCM' }) {
  const made = await who.post('/v1/crypto/keys', body)
  assert.equal(made.status, 200, made.text)
  return made.json
}

/**
 * Asks until the answer is `status`. On SQLite the first request has to be refused; on PostgreSQL every request that
 * was sent after the lease.
 */
async function refusedFrom(
  who: Caller,
  kid: string,
  status: number,
  strict: boolean,
  acknowledged: number,
): Promise<void> {
  for (;;) {
    const sent = performance.now()
    const answer = await who.post('/v1/crypto/encrypt', encryptWith(kid))
    if (answer.status === status) return
    assert.equal(answer.status, 200, answer.text)
    assert.ok(!strict, 'the next request was not refused')
    assert.ok(sent - acknowledged <= leaseMs, 'a request after the lease was not refused')
  }
}

const listeners = query<[], { readonly done: boolean }>(
  `SELECT pg_terminate_backend(pid) AS done FROM pg_stat_activity
     WHERE datname = current_database() AND query LIKE 'LISTEN%' AND pid <> pg_backend_pid()`,
)

for (const { name: engine, skip, url, open } of await bothEngines()) {
  const name = engine === 'SQLite' ? 'one SQLite file' : engine
  /** A change counts from the next request on; else within the lease. */
  const strict = engine === 'SQLite'
  test(`two processes on ${name}: a right that one revokes is refused by the other, on SQLite at once, else within the lease (K03)`, {
    skip,
    timeout: 60_000,
  }, async () => {
    using site = createSite()
    const databaseUrl = await url()
    const near = await site.start({ name: 'near', databaseUrl })
    const far = await site.start({ name: 'far', databaseUrl })
    const db = await open(databaseUrl)
    const alice = near.user('alice')
    const [aliceFar, bobFar] = [far.user('alice'), far.user('bob')]
    const warm = async (kid: string, who = aliceFar): Promise<void> => {
      for (let count = 0; count < 3; count++)
        assert.equal((await who.post('/v1/crypto/encrypt', encryptWith(kid))).status, 200)
    }
    const put = async (id: ObjectId, state: State): Promise<void> => {
      const object = await findObject(db, id)
      assert.ok(object)
      await db.commit(lifeCycleChanges(db, object, { ...object, state }, Date.now()))
    }

    // A right: read anew at each use on both engines.
    const shared = await make(alice)
    await grant(alice, shared.kid, 'bob', 'encrypt')
    await warm(shared.kid, bobFar)
    const right = { unique_identifier: shared.kid, user_id: 'bob', operation_types: ['encrypt'] }
    assert.equal((await alice.post('/access/revoke', right)).status, 200)
    assert.equal((await bobFar.post('/v1/crypto/encrypt', encryptWith(shared.kid))).status, 404)

    for (const state of ['Deactivated', 'Compromised'] as const) {
      const { kid } = await make(alice)
      await warm(kid)
      await put(kid, state)
      await refusedFrom(aliceFar, kid, 422, strict, performance.now())
    }
    const gone = await make(alice)
    await warm(gone.kid)
    assert.equal((await alice.del(`/v1/crypto/keys/${gone.kid}`)).status, 204)
    await refusedFrom(aliceFar, gone.kid, 404, strict, performance.now())

    if (!strict) {
      // Also if the other node gets no notification: its change feed is cut.
      const { kid } = await make(alice)
      await warm(kid)
      await db.all(listeners, [])
      assert.equal((await alice.del(`/v1/crypto/keys/${kid}`)).status, 204)
      await refusedFrom(aliceFar, kid, 404, strict, performance.now())
    }
    assert.deepEqual([await near.stop(), await far.stop()], [0, 0])
  })

  test(`two processes on ${name}: together they never exceed the AES-GCM message limit, also after a restart (K07)`, {
    skip,
    timeout: 60_000,
  }, async () => {
    using site = createSite()
    const databaseUrl = await url()
    let nodes = await Promise.all([
      site.start({ name: 'one', databaseUrl }),
      site.start({ name: 'two', databaseUrl }),
    ])
    const [first] = nodes
    assert.ok(first)
    const { kid } = await make(first.user('alice'))
    const left = 2500
    const db = await open(databaseUrl)
    const spend = query<[number, string], unknown>('UPDATE gcm_budget SET reserved = ? WHERE object_id = ?')
    await db.commit([{ query: spend as never, params: [maxInvocations - left, kid], expect: 1 }])
    const ivs = new Set<string>()
    let done = 0
    const encryptMany = async (node: ServiceProcess): Promise<boolean> => {
      const operations = Array.from({ length: 200 }, () => ({ op: 'encrypt', ...encryptWith(kid) }))
      const { json } = await node.user('alice').post('/v1/crypto/batch', { operations })
      for (const item of json.results) {
        if (item.status === 200) {
          done++
          ivs.add(item.result.iv)
        } else assert.deepEqual([item.status, item.error], [422, 'crypto_failure'])
      }
      return json.results.every((item: { status: number }) => item.status !== 200)
    }
    await Promise.all(nodes.flatMap((node) => [encryptMany(node), encryptMany(node)]))
    assert.ok(done > 0)
    // The reservation of a killed process counts as used.
    for (const node of nodes) await node.kill()
    nodes = await Promise.all([
      site.start({ name: 'one', databaseUrl }),
      site.start({ name: 'two', databaseUrl }),
    ])
    let spent = false
    for (let round = 0; round < 30 && !spent; round++) {
      spent = (await Promise.all(nodes.map(encryptMany))).every((all) => all)
    }
    assert.ok(spent, 'it never ends')
    assert.ok(done <= left, `${done} encryptions with ${left} left`)
    assert.equal(ivs.size, done)
    const reserved = query<[string], { readonly reserved: number }>(
      'SELECT reserved FROM gcm_budget WHERE object_id = ?',
    )
    assert.ok(((await db.get(reserved, [kid]))?.reserved ?? 0) <= maxInvocations)
  })
}

test('a service that has announced its readiness can be stopped at once, with a clean shutdown', async () => {
  using site = createSite()
  const databaseUrl = `sqlite:${site.folder}/kms.db`
  for (let round = 0; round < 3; round += 1) {
    const service = await site.start({ name: 'home', databaseUrl })
    assert.equal(await service.stop(), 0)
  }
})
