import assert from 'node:assert/strict'
import { test } from 'node:test'
import { destructionWaits, rotate, throughLife } from '../testing/key-life.ts'
import {
  currentKid,
  encrypted,
  type MicrosoftWorld,
  owner,
  secret,
  serviceUrl,
  startMicrosoft,
} from './testing/world.ts'

const open = async (world: MicrosoftWorld, value: string, kid = currentKid) =>
  world.decrypt(await world.token(), { alg: 'RSA-OAEP-256', value }, kid)

test("Office is told by the statuses of Microsoft's sample why a key is not used", async () => {
  await using world = await startMicrosoft({ config: destructionWaits })
  const value = encrypted(await world.publicKey())
  const told = ({ status, json }: { status: number; json: Record<string, unknown> }) =>
    status === 200 ? 200 : `${status} ${json.description}`
  const life = await throughLife(world.kms, owner, currentKid, async () => [
    told(await world.publicKey()),
    told(await open(world, value)),
  ])
  const twice = (answer: unknown) => [answer, answer]
  assert.deepEqual(life, {
    active: twice(200),
    disabled: twice('400 The key is disabled: it cannot be used until it is enabled.'),
    enabled: twice(200),
    'awaiting destruction': twice(
      '400 The destruction of the key is pending: it cannot be used unless it is restored.',
    ),
    restored: twice(200),
    // It protects no new document, and those that it protected open.
    deactivated: ['400 The key is Deactivated.', 200],
    destroyed: twice('400 The key finance does not exist.'),
  })
})

test('of a key that was rotated the newest version is given out, and each one decrypts', async () => {
  await using world = await startMicrosoft()
  const { kms } = world
  const old = encrypted(await world.publicKey())
  const version = await rotate(kms, owner, currentKid)
  const given = await world.publicKey()
  assert.equal(given.json.key.kid, `${serviceUrl}/finance/${version}`)
  const fresh = encrypted(given)
  const opened = { value: secret.toString('base64') }
  assert.deepEqual((await open(world, old)).json, opened)
  assert.deepEqual((await open(world, fresh, version)).json, opened)
  assert.equal((await open(world, fresh)).status, 400, 'another version')
  const stranger = await world.token({ upn: 'bob@contoso.com' })
  const body = { alg: 'RSA-OAEP-256', value: fresh }
  assert.equal((await world.decrypt(stranger, body, version)).status, 403)

  const user = kms.user(owner)
  const path = `/v1/crypto/keys/${currentKid}`
  const oldest = await user.call('PUT', `${path}/rotation`, { json: { min_decrypt_version: 2 } })
  assert.equal(oldest.status, 200, oldest.text)
  assert.equal((await open(world, old)).status, 400, 'older than the owner lets it be')
  assert.equal((await user.post(`${path}/disable`, {})).status, 200)
  assert.equal((await open(world, fresh, version)).status, 400)
  assert.equal((await world.publicKey()).status, 400)
})
