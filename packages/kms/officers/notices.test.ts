import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startKms } from '../testing/start.ts'

const secret = 'a secret of more than thirty-two characters'
const url = 'https://receiver.example/notices'

test('each step of an approval sends a notice, and a start without the webhook secret is refused', async () => {
  const officers = {
    'roles.crypto_officer_users': ['ann', 'ben', 'cid'],
    'approvals.operations': ['destroy'],
  }
  const config = {
    ...officers,
    'approvals.webhook_url': 'https://127.0.0.1:1/',
    'approvals.webhook_secret': secret,
    kms_public_url: 'https://keys.example/',
  }
  await using kms = await startKms({ config })
  const { json } = await kms.user('ann').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  const told: string[] = []
  const { services } = kms
  assert.ok(services.notices)
  services.notices.tell = async (event, about) => void told.push(`${event} ${JSON.stringify(about)}`)
  const asked = await kms.user('ann').post('/access/approvals', { operation: 'destroy', key: json.kid })
  const { id, hash } = asked.json
  await kms.user('ben').post(`/access/approvals/${id}/approve`, { hash })
  await kms.user('ann').post(`/access/approvals/${id}/withdraw`, {})
  assert.deepEqual(
    told.map((line) => line.split(' ')[0]),
    ['approval.asked', 'approval.approved', 'approval.withdrawn'],
  )
  assert.match(told[1] ?? '', /"by":"ben".*"approved_by":\["ben"\]/)
  for (const line of told) assert.ok(line.includes(`"link":"https://keys.example/ui/approvals/${id}"`), line)
  const half = { ...officers, 'approvals.webhook_url': url }
  await assert.rejects(startKms({ config: half }), /both webhook_url and webhook_secret/)
  await assert.rejects(
    startKms({ config: { ...config, 'approvals.webhook_secret': 'short' } }),
    /32 characters/,
  )
})
