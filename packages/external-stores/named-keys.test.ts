import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type Started, storeKeyAs } from '@warder/kms/testing'
import { owner as googleOwner, signingKid, startGoogle, wrappingKid } from './google/testing/world.ts'
import { currentKid, owner as microsoftOwner, startMicrosoft } from './microsoft/testing/world.ts'

const rsa = () => ({
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
})
const aes = () => ({ kty: 'oct', k: randomBytes(32).toString('base64url') })

async function grant(kms: Started, owner: string, kid: string, user: string, ...rights: string[]) {
  const body = { unique_identifier: kid, user_id: user, operation_types: rights }
  const { status, text } = await kms.user(owner).post('/access/grant', body)
  assert.equal(status, 200, text)
}

test('an object of another owner under the id of a setting is not the key that Google uses', async () => {
  await using world = await startGoogle()
  const { kms } = world
  assert.equal((await world.get('status')).status, 200)
  for (const [kid, jwk, alg, rights] of [
    [wrappingKid, aes(), 'A256GCM', ['encrypt', 'decrypt']],
    [signingKid, rsa(), 'RS256', ['sign']],
  ] as const) {
    await storeKeyAs(kms, kid, 'mallory', jwk, alg, true)
    await grant(kms, 'mallory', kid, 'google:*', ...rights)
    assert.equal((await world.get('status')).status, 500, kid)
    const moved = await kms
      .user('admin')
      .post('/access/transfer', { from_user_id: 'mallory', to_user_id: googleOwner })
    assert.equal(moved.status, 200)
    assert.equal((await world.get('status')).status, 200, 'of the owner again')
  }
})

test('a key of a setting that goes to another owner goes on being used', async () => {
  await using world = await startGoogle()
  assert.equal((await world.get('status')).status, 200)
  const moved = await world.kms
    .user('admin')
    .post('/access/transfer', { from_user_id: googleOwner, to_user_id: 'successor' })
  assert.equal(moved.status, 200)
  assert.equal((await world.get('status')).status, 200)
})

test('Office is not given the public key of a stranger', async () => {
  await using world = await startMicrosoft()
  assert.equal((await world.publicKey()).status, 200)
  await storeKeyAs(world.kms, currentKid, 'mallory', rsa(), 'RSA-OAEP-256', true)
  const answer = await world.publicKey()
  assert.notEqual(answer.status, 200)
  await storeKeyAs(world.kms, currentKid, microsoftOwner, rsa(), 'RSA-OAEP-256', true)
  assert.equal((await world.publicKey()).status, 200)
})
