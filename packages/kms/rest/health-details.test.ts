import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startKms } from '../testing/start.ts'

const path = '/v1/health/details'

test('without officers the default user reads the details of health, and nobody else', async () => {
  await using kms = await startKms()
  const { status, json } = await kms.user('admin').get(path)
  assert.equal(status, 200, JSON.stringify(json))
  assert.equal(json.service, 'kms')
  assert.ok(json.database.migrations.some(({ component }: { component: string }) => component === 'kms'))
  const refused = await kms.user('alice').get(path)
  assert.deepEqual([refused.status, Object.keys(refused.json).sort()], [403, ['description', 'error']])
  assert.equal((await kms.with({}).get(path)).status, 401)
})

test('with officers they read the details, and neither the default user nor readers of the audit log', async () => {
  await using kms = await startKms({ config: { 'roles.crypto_officer_users': ['olga'] } })
  const olga = kms.user('olga')
  const grant = { user_id: 'rita', operation_types: ['audit', 'external'] }
  assert.equal((await olga.post('/access/grant', grant)).status, 200)
  assert.equal((await olga.get(path)).status, 200)
  for (const name of ['admin', 'rita']) assert.equal((await kms.user(name).get(path)).status, 403, name)
})
