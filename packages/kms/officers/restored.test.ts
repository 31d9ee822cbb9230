import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '@warder/base'
import { aesAttributes, kmipClient, objectType } from '@warder/kmip-server/testing'
import { bothEngines } from '../testing/engines.ts'
import { type Started, type StartOptions, startKms } from '../testing/start.ts'

const officers = ['ann', 'ben', 'cid', 'dan', 'eva']
const config = {
  'roles.crypto_officer_users': officers,
  'approvals.operations': ['restore_backup'],
  cache_lease_ms: 0,
}
const digest = 'ab'.repeat(32)
const restored = { digest, madeAt: Date.UTC(2026, 0, 2, 3), restoredAt: Date.UTC(2026, 0, 3) }
const rootKey = Buffer.alloc(32, 5)
const held = /restored from a backup of 2026-01-02T03:00:00.000Z and serves no requests until/
type Node = Pick<Started, 'user'>

const requests = async (kms: Node) => (await kms.user('ann').get('/access/approvals')).json
const vote = (kms: Node, user: string, { id, hash }: { id: string; hash: string }, way = 'approve') =>
  kms.user(user).post(`/access/approvals/${id}/${way}`, { hash })
const makeKey = (kms: Node) => kms.user('ann').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })

async function refuses(kms: Started): Promise<void> {
  for (const answer of [
    await makeKey(kms),
    await kms.with({}).get('/v1/crypto/keys/any'),
    await kms.user('ann').get('/openapi.yaml'),
    await kms.user('ann').get('/.well-known/jwks.json'),
    await kms.user('ann').post('/kmip/2_1', {}),
    await kms.user('ann').post('/access/crypto_officer/ceremony', {}),
    await kms.user('ann').post('/access/block', { user_id: 'eva' }),
    // Nor is a large body read for it.
    await kms.user('ann').post('/v1/crypto/encrypt', { data: 'A'.repeat(2_000_000) }),
  ]) {
    assert.equal(answer.status, 403, answer.text)
    assert.match(answer.text, held)
  }
}

for (const engine of await bothEngines()) {
  test(`${engine.name}: a restored backup serves nothing before three of five officers approve it, on two nodes`, {
    skip: engine.skip,
  }, async () => {
    const url = await engine.url()
    const [one, other] = [await engine.open(url), await engine.open(url)]
    const start = (more: StartOptions = {}) =>
      startKms({ db: one, rootKey, ...more, config: { ...config, ...more.config } })
    let kid = ''
    {
      await using before = await start()
      kid = (await makeKey(before)).json.kid
    }
    let refusedRequest = { id: '', hash: '' }
    {
      await using near = await start({ restored })
      await using far = await start({
        db: other,
        restored,
        config: { auth_verifier_jwks: `file:${join(near.home, 'jwks.json')}` },
      })
      const onFar = {
        user: (name: string) => far.with({ authorization: `Bearer ${near.token({ sub: name })}` }),
      }
      const audited = near.audit.find(({ operation }) => operation === 'access.restore_held')
      assert.equal(audited?.object, digest)
      await refuses(near)
      const health = await near.with({}).get('/health')
      assert.deepEqual([health.status, health.json.dependencies.restore.status], [200, 'DOWN'])
      assert.equal((await near.with({}).get('/version')).status, 200)
      assert.equal((await near.user('bob').get('/me')).json.user, 'bob')

      const [request, ...more] = await requests(onFar)
      assert.equal(more.length, 0, 'two starts ask once')
      assert.deepEqual([request.operation, request.key, request.requester], ['restore_backup', digest, '.'])
      assert.deepEqual(request.restore, {
        made_at: '2026-01-02T03:00:00.000Z',
        restored_at: '2026-01-03T00:00:00.000Z',
      })
      assert.deepEqual((await near.user('mallory').get('/access/approvals')).json, [])
      assert.equal((await vote(near, 'mallory', request)).status, 403)
      assert.equal(
        (await near.user('mallory').post('/access/approvals', { operation: 'restore_backup' })).status,
        403,
      )
      // The officers cannot be replaced meanwhile, although the policy has no `settings`.
      await assert.rejects(
        start({ config: { 'roles.crypto_officer_users': ['mallory', 'm2', 'm3'] } }),
        /differ from those of the restored backup, which requires the approval of 3 of these crypto officers: ann/,
      )
      await assert.rejects(
        start({ config: { 'approvals.operations': [] } }),
        /differ from those of the restored backup/,
      )

      assert.equal((await vote(near, 'ann', request)).json.state, 'open')
      assert.equal((await vote(near, 'ann', request)).status, 409)
      assert.equal((await vote(onFar, 'ben', request, 'refuse')).json.state, 'open')
      assert.equal((await vote(near, 'cid', request, 'refuse')).json.state, 'open')
      assert.equal((await vote(onFar, 'dan', request, 'refuse')).json.state, 'refused')
      refusedRequest = request
      await refuses(near)
      await refuses(far)
    }
    {
      // A refusal holds after another start, which asks no more.
      await using near = await start()
      await using far = await start({
        db: other,
        config: { auth_verifier_jwks: `file:${join(near.home, 'jwks.json')}` },
      })
      const onFar = {
        user: (name: string) => far.with({ authorization: `Bearer ${near.token({ sub: name })}` }),
      }
      assert.equal((await requests(near)).length, 1)
      await refuses(near)
      const asked = await near.user('dan').post('/access/approvals', { operation: 'restore_backup' })
      assert.equal(asked.status, 200, asked.text)
      assert.equal((await vote(near, 'eva', refusedRequest)).status, 409)
      assert.equal((await vote(near, 'dan', asked.json)).status, 403)
      assert.equal((await vote(onFar, 'ann', asked.json)).json.state, 'open')
      assert.equal((await vote(near, 'ben', asked.json)).json.state, 'open')
      await refuses(far)
      assert.equal((await vote(onFar, 'cid', asked.json)).json.state, 'done')
      for (const kms of [near, onFar]) {
        assert.equal((await kms.user('ann').get(`/v1/crypto/keys/${kid}`)).status, 200)
        assert.equal((await makeKey(kms)).status, 200)
      }
      await kmipClient(near.user('ann')).do('Create', [objectType('SymmetricKey'), aesAttributes()])
      const last = far.audit.find(({ details }) => details?.state === 'done')
      assert.deepEqual(
        [last?.operation, last?.principal, last?.object],
        ['access.approvals.approve', 'cid', digest],
      )
      const again = await near.user('ann').post('/access/approvals', { operation: 'restore_backup' })
      assert.equal(again.status, 422)
    }
    {
      await using later = await start({ restored })
      assert.equal((await makeKey(later)).status, 200, 'the same restore is not held twice')
    }
    // Another restore of the same file takes other approvals: those of before do not count.
    await using anew = await start({ restored: { ...restored, restoredAt: restored.restoredAt + 1 } })
    await refuses(anew)
    assert.equal((await requests(anew)).filter(({ state }: { state: string }) => state === 'open').length, 1)
  })
}

test('the next start creates an expired request again; without the policy a restored backup serves at once', async () => {
  let now = Date.now()
  const clock = { ...systemClock, now: () => now }
  await using kms = await startKms({ config, clock, rootKey })
  const { db, seal } = kms.environment
  {
    await using first = await startKms({ config, clock, db, seal, restored })
    assert.equal((await requests(first)).length, 1)
  }
  now += 86_400_000
  {
    await using second = await startKms({ config, clock, db, seal })
    const states = (await requests(second)).map(({ state }: { state: string }) => state)
    assert.deepEqual(states, ['expired', 'open'])
    await refuses(second)
  }
  const other = { ...config, 'approvals.operations': ['destroy'] }
  await using free = await startKms({ config: other })
  const { db: freeDb, seal: freeSeal } = free.environment
  await using served = await startKms({ config: other, db: freeDb, seal: freeSeal, restored })
  assert.equal((await makeKey(served)).status, 200)
})
