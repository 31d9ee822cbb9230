import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { bothEngines, startTwoNodes } from '../testing/engines.ts'
import { startKms } from '../testing/start.ts'
import { storeKeyAs } from '../testing/store-key.ts'

const path = '/v1/external-stores'

test('without officers only the default user manages external key stores', async () => {
  await using kms = await startKms()
  const admin = kms.user('admin')
  const { json } = await admin.get(path)
  assert.deepEqual(
    json.map(({ name, enabled, stopped }: Record<string, unknown>) => [name, enabled, stopped]),
    ['aws', 'google', 'microsoft', 'azure'].map((name) => [name, false, null]),
  )
  const alice = kms.user('alice')
  for (const { status, json } of [
    await alice.get(path),
    await alice.post(`${path}/aws/stop`, {}),
    await alice.post(`${path}/aws/start`, {}),
  ])
    assert.deepEqual([status, json.error], [403, 'forbidden'])
  assert.equal((await kms.with({}).get(path)).status, 401)
  assert.equal((await admin.post(`${path}/oracle/stop`, {})).status, 404)
  const stopped = (await admin.post(`${path}/aws/stop`, {})).json
  assert.equal(stopped.stopped.by, 'admin')
  // A second stop does not change the first one.
  assert.deepEqual((await admin.post(`${path}/aws/stop`, {})).json.stopped, stopped.stopped)
  assert.equal((await admin.post(`${path}/aws/start`, {})).json.stopped, null)
  const recorded = kms.audit.filter(
    ({ operation, outcome }) => operation === 'external.stop' && outcome === 'success',
  )
  assert.deepEqual(
    recorded.map(({ object, principal }) => [object, principal]),
    [
      ['aws', 'admin'],
      ['aws', 'admin'],
    ],
  )
})

test('with officers, they and users with `external` manage external key stores', async () => {
  await using kms = await startKms({ config: { 'roles.crypto_officer_users': ['olga'] } })
  const [olga, bob, admin] = [kms.user('olga'), kms.user('bob'), kms.user('admin')]
  const grant = { user_id: 'bob', operation_types: ['external'] }
  assert.equal((await admin.get(path)).status, 403)
  assert.equal((await admin.post('/access/grant', grant)).status, 403)
  assert.equal((await bob.post(`${path}/azure/stop`, {})).status, 403)
  assert.equal((await olga.post('/access/grant', { ...grant, user_id: '*' })).status, 400)
  assert.equal((await olga.post('/access/grant', grant)).status, 200)
  assert.equal((await bob.post(`${path}/azure/stop`, {})).json.stopped.by, 'bob')
  assert.equal((await olga.post('/access/revoke', grant)).status, 200)
  assert.equal((await bob.post(`${path}/azure/start`, {})).status, 403)
  assert.equal((await olga.post(`${path}/azure/start`, {})).json.stopped, null)
  // The right to look after them is no right to create.
  assert.equal((await bob.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).status, 403)
})

test('a check names what a cloud would stumble over, and changes nothing', async () => {
  const check = async (caller: ReturnType<typeof kms.user>, name: string) => {
    const { status, json } = await caller.post(`${path}/${name}/check`, {})
    assert.equal(status, 200, JSON.stringify(json))
    const steps = json.steps.map(({ what, problem }: Record<string, string | null>) => [what, problem])
    return { ok: json.ok, steps: Object.fromEntries(steps) }
  }
  const config = {
    kms_public_url: 'https://kms.example.com:9998',
    'aws_xks_config.aws_xks_enable': true,
    'aws_xks_config.aws_xks_uri_path_prefixes': ['/aws', '/payments'],
    'ms_dke_config.ms_dke_enable': true,
    'ms_dke_config.ms_dke_tenants': ['2ec40e65-ba09-4853-bcde-bcb60029e596'],
    'ms_dke_config.ms_dke_keys': ['finance=finance-key'],
  }
  await using kms = await startKms({ config })
  const admin = kms.user('admin')
  const google = await check(admin, 'google')
  assert.deepEqual([google.ok, Object.keys(google.steps)], [false, ['Settings']])
  assert.match(google.steps.Settings, /warder external google enable/)

  await admin.post(`${path}/aws/stop`, {})
  await admin.post(`${path}/aws/access-keys`, { region: 'eu-west-1', uri_prefix: '/payments' })
  const aws = await check(admin, 'aws')
  assert.equal(aws.ok, false)
  assert.match(aws.steps['Stop switch'], /stopped/)
  assert.match(aws.steps.Address, /port 443 only, not to 9998/)
  assert.match(aws.steps['Access key for /aws/kms/xks/v1'], /create one/)
  assert.equal(aws.steps['Access key for /payments/kms/xks/v1'], null)
  const stopped = (await admin.get(path)).json.find(({ name }: { name: string }) => name === 'aws')
  assert.notEqual(stopped.stopped, null)

  assert.match((await check(admin, 'microsoft')).steps['Key of finance'], /no key finance-key/)
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = privateKey.export({ format: 'jwk' })
  await storeKeyAs(kms, 'finance-key', 'admin', { ...jwk }, 'RSA-OAEP-256', false)
  const microsoft = await check(admin, 'microsoft')
  assert.deepEqual([microsoft.ok, microsoft.steps['Key of finance']], [true, null])
  assert.equal((await kms.user('alice').post(`${path}/aws/check`, {})).status, 403)
  assert.equal((await admin.post(`${path}/oracle/check`, {})).status, 404)
})

for (const engine of await bothEngines()) {
  test(`two nodes on ${engine.name}: both know at once which store is disabled, and one of two concurrent changes succeeds`, {
    skip: engine.skip,
  }, async () => {
    await using nodes = await startTwoNodes(engine)
    const [near, far] = [nodes.near.user('admin'), nodes.onFar('admin')]
    const state = async (caller: typeof near) =>
      (await caller.get(path)).json.map(({ stopped }: { stopped: object | null }) => stopped !== null)
    assert.deepEqual(await state(far), [false, false, false, false])
    const answers = await Promise.all([near, far].map((caller) => caller.post(`${path}/google/stop`, {})))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    )
    assert.deepEqual(await state(near), [false, true, false, false])
    assert.deepEqual(await state(far), [false, true, false, false])
    assert.equal((await far.post(`${path}/google/start`, {})).json.stopped, null)
    assert.deepEqual(await state(near), [false, false, false, false])
  })
}
