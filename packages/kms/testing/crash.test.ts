import assert from 'node:assert/strict'
import { test } from 'node:test'
import { query } from '@warder/storage'
import { grant } from './client.ts'
import { bothEngines } from './engines.ts'
import { createSite, type ServiceProcess } from './process.ts'

/** More rounds for a long run: WARDER_CRASH_ROUNDS=200 npm test -- crash */
const rounds = Number(process.env.WARDER_CRASH_ROUNDS ?? 3)

const halves = query<
  [],
  { readonly id: string; readonly linked_id: string | null; readonly object_type: string }
>('SELECT id, linked_id, object_type FROM managed_object')
const belongings = query<[], { readonly id: string }>(
  `SELECT object_id AS id FROM object_tag UNION ALL SELECT object_id FROM object_grant
     UNION ALL SELECT object_id FROM gcm_budget`,
)

const chains = query<
  [],
  { readonly id: string; readonly newest_id: string | null; readonly newest: string | null }
>(
  `SELECT k.id, k.newest_id, (SELECT v.id FROM managed_object v WHERE v.chain_id = k.id AND v.superseded_at IS NULL) AS newest
     FROM managed_object k WHERE k.chain_id = k.id`,
)
const latest = query<[], { readonly chain_id: string; readonly versions: number; readonly last: number }>(
  `SELECT chain_id, COUNT(*) AS versions, MAX(generation) AS last FROM managed_object WHERE chain_id IS NOT NULL
     GROUP BY chain_id HAVING SUM(CASE WHEN superseded_at IS NULL THEN 1 ELSE 0 END) <> 1 OR MAX(generation) <> COUNT(*) - 1`,
)
const lost = query<[], { readonly id: string }>(
  `SELECT v.id FROM managed_object v WHERE v.chain_id IS NOT NULL
     AND NOT EXISTS (SELECT 1 FROM managed_object k WHERE k.id = v.chain_id)`,
)

interface Pair {
  readonly kid: string
  readonly kid_public: string
}

interface Told {
  /** Pairs whose creation was acknowledged, and whose destruction was not asked for. */
  readonly alive: Map<string, Pair>
  /** Pairs whose destruction was acknowledged. */
  readonly gone: Set<string>
  /** Destruction was asked for, and no answer came. */
  readonly unsure: Map<string, Pair>
  /** Ciphertexts of keys that were rotated all the while, by their user. */
  readonly sealed: { readonly user: string; readonly jwe: object }[]
}

const data = Buffer.from('attack at dawn').toString('base64url')
/** Of one user and one life of the process; more would tell nothing else. */
const maxSealed = 20

/** Creates, grants and destroys pairs from several connections until the service is gone. */
async function work(service: ServiceProcess, told: Told): Promise<void> {
  const worker = async (index: number): Promise<void> => {
    const user = `user ${index}`
    const who = service.user(user)
    const { kid: key } = (await who.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
    for (let count = 0; ; count++) {
      const made = await who.post('/v1/crypto/keys', { kty: 'EC', crv: 'P-256', tags: ['a', 'b'] })
      assert.equal(made.status, 200, made.text)
      const pair: Pair = made.json
      told.alive.set(pair.kid, pair)
      await grant(who, pair.kid, '*', 'Read', 'UseKey')
      // A kill in the middle of a rotation leaves the version of before or of after.
      if (count % 3 !== 2)
        assert.equal((await who.post(`/v1/crypto/keys/${pair.kid}/rotate`, {})).status, 200)
      if (count < maxSealed) {
        const jwe = await who.post('/v1/crypto/encrypt', { kid: key, alg: 'dir', enc: 'A256GCM', data })
        assert.equal(jwe.status, 200, jwe.text)
        told.sealed.push({ user, jwe: jwe.json })
        assert.equal((await who.post(`/v1/crypto/keys/${key}/rotate`, {})).status, 200)
      }
      if (count % 2 === 0) continue
      told.alive.delete(pair.kid)
      told.unsure.set(pair.kid, pair)
      const named = count % 4 === 1 ? pair.kid : pair.kid_public
      assert.equal((await who.del(`/v1/crypto/keys/${named}`)).status, 204)
      told.unsure.delete(pair.kid)
      told.gone.add(pair.kid).add(pair.kid_public)
    }
  }
  const ends = await Promise.allSettled([0, 1, 2, 3].map(worker))
  for (const end of ends) {
    // The connection breaks when the process is killed; whatever else failed is a failure.
    if (end.status === 'rejected' && end.reason instanceof assert.AssertionError) throw end.reason
  }
}

for (const engine of await bothEngines()) {
  test(`${rounds} kills between commit and response on ${engine.name} leave complete pairs and chains, lose nothing acknowledged, and allow retries (K27)`, {
    skip: engine.skip,
    timeout: 60_000 + rounds * 20_000,
  }, async () => {
    using site = createSite()
    const databaseUrl = await engine.url()
    const told: Told = { alive: new Map(), gone: new Set(), unsure: new Map(), sealed: [] }
    for (let round = 0; round < rounds; round++) {
      const service = await site.start({ name: 'home', databaseUrl })
      const [alive, gone] = [told.alive.size, told.gone.size]
      const stream = work(service, told)
      // Also on a slow machine something was acknowledged in each round; the test's own time limit ends the waiting.
      while (told.alive.size <= alive || told.gone.size <= gone)
        await new Promise((resolve) => setTimeout(resolve, 10))
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 250))
      await service.kill()
      await stream
      const db = await engine.open(databaseUrl)
      const rows = await db.all(halves, [])
      const ids = new Map(rows.map((row) => [row.id, row]))
      for (const { id, linked_id: linked, object_type: type } of rows) {
        if (type === 'SymmetricKey') continue
        assert.ok(linked !== null && ids.get(linked)?.linked_id === id, `${id} is alone`)
      }
      assert.deepEqual(await db.all(latest, []), [], 'one latest version, and none missing before it')
      for (const { id, newest_id, newest } of await db.all(chains, [])) assert.equal(newest, newest_id, id)
      assert.deepEqual(await db.all(lost, []), [])
      for (const { kid, kid_public } of told.alive.values())
        assert.ok(ids.has(kid) && ids.has(kid_public), kid)
      for (const kid of told.gone) assert.ok(!ids.has(kid), kid)
      for (const { kid, kid_public } of told.unsure.values()) assert.equal(ids.has(kid), ids.has(kid_public))
      for (const { id } of await db.all(belongings, [])) assert.ok(ids.has(id), `something of ${id} is left`)
    }
    assert.ok(told.alive.size > rounds && told.gone.size > rounds)
    const service = await site.start({ name: 'home', databaseUrl })
    assert.ok(told.sealed.length > rounds)
    for (const { user, jwe } of told.sealed)
      assert.equal((await service.user(user).post('/v1/crypto/decrypt', jwe)).json.data, data)
    for (const { kid, kid_public } of told.unsure.values()) {
      // A caller without a response repeats the request: it succeeds now, or did before.
      for (const index of [0, 1, 2, 3]) {
        const { status } = await service.user(`user ${index}`).del(`/v1/crypto/keys/${kid}`)
        assert.ok(status === 204 || status === 404 || status === 403, String(status))
      }
      for (const index of [0, 1, 2, 3])
        assert.equal((await service.user(`user ${index}`).get(`/v1/crypto/keys/${kid_public}`)).status, 404)
    }
    assert.equal(await service.stop(), 0)
  })
}
