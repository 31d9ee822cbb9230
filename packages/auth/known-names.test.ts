import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scene } from './testing/scene.ts'
import { peerSecret, startAuth } from './testing/start.ts'

test('only services of the installation can ask whether a user and a machine are known', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const { realm, user, asSuper } = scene(auth)
  await realm('r')
  await user('r', 'ann')
  const role = { token_policies: ['p'] }
  assert.ok((await asSuper('POST', '/auth/approle/role/ci', role)).status < 300)
  assert.ok((await asSuper('POST', '/auth/approle/role/cd?realm=r', role)).status < 300)
  const ask = async (realmId: string, username: string, entity = username) => {
    const query = `realm=${realmId}&username=${encodeURIComponent(username)}&entity=${encodeURIComponent(entity)}`
    const answer = await auth.call('GET', `/known?${query}`, { headers: { 'x-warder-peer': peerSecret } })
    assert.equal(answer.status, 200, answer.text)
    return answer.json
  }
  assert.deepEqual(await ask('r', 'ann'), { user: true, machine: false })
  assert.deepEqual(await ask('_', 'ann'), { user: false, machine: false })
  assert.deepEqual(await ask('_', 'ci'), { user: false, machine: true })
  assert.deepEqual(await ask('_', 'cd'), { user: false, machine: false })
  assert.deepEqual(await ask('r', 'x', 'r/approle:cd'), { user: false, machine: true })
  // Accounts of orchestrators are registered nowhere.
  assert.deepEqual(await ask('r', 'x', 'namespace/account'), { user: false, machine: null })

  const path = '/known?realm=r&username=ann&entity=ann'
  assert.equal((await auth.call('GET', path)).status, 401)
  assert.equal((await auth.call('GET', path, { headers: { 'x-warder-peer': 'no' } })).status, 401)
  assert.equal((await auth.call('GET', path, { cookie: await auth.superCookie() })).status, 401)
})
