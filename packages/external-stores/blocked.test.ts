import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blockChanges, grantChanges } from '@warder/keys'
import type { Caller, Started } from '@warder/kms/testing'
import type { JWTPayload } from 'jose'
import { principal, requestMetadata, startXks } from './aws/fixtures/xks.ts'
import { aesKey, pool, startEkm } from './azure/fixtures/ekm.ts'
import { dataKey, startGoogle } from './google/testing/world.ts'
import { encrypted, secret, startMicrosoft, tenant } from './microsoft/testing/world.ts'

/** Each of these blocks refuses the request, and its end lets it pass again. */
async function expectBlocks(
  kms: Started,
  names: readonly string[],
  send: () => Promise<number>,
): Promise<void> {
  const admin: Caller = kms.user('admin')
  assert.equal(await send(), 200)
  for (const user_id of names) {
    assert.equal((await admin.post('/access/block', { user_id })).status, 200, user_id)
    assert.equal(await send(), 403, user_id)
    assert.equal((await admin.del('/access/block', { user_id })).status, 200, user_id)
    assert.equal(await send(), 200, `${user_id}, unblocked`)
  }
  // What blocks nobody blocks nobody.
  assert.equal((await admin.post('/access/block', { user_id: 'google:zoe@example.com' })).status, 200)
  assert.equal(await send(), 200)
}

test('Google: a user is blocked in any spelling, under each address of the token, and by whom they act through', async () => {
  await using world = await startGoogle()
  const meeting = { resource_name: 'meeting_id', delegated_to: 'Room@Rooms.example.com' }
  const send = async (claims: JWTPayload = {}) => {
    const authentication = await world.authentication(claims)
    const authorization = await world.authorization()
    return (await world.post('wrap', { authentication, authorization, key: dataKey })).status
  }
  const spelled = ['google:alice@example.com', 'google:Alice@EXAMPLE.com', 'Google:ALICE@example.com']
  await expectBlocks(world.kms, spelled, () => send())
  const two = { email: 'Alice.Other@example.com', google_email: 'alice@example.com' }
  await expectBlocks(world.kms, [...spelled, 'google:alice.other@example.com'], () => send(two))

  const authorization = () => world.authorization(meeting, { application: 'meet' })
  const delegate = async () =>
    world.post('delegate', {
      authentication: await world.authentication(two),
      authorization: await authorization(),
    })
  const both = [
    'google:room@rooms.example.com',
    'google:ROOM@rooms.example.com',
    'google:alice.other@example.com',
  ]
  await expectBlocks(world.kms, [...spelled, ...both], async () => (await delegate()).status)
  const authentication = (await delegate()).json.delegated_authentication
  await expectBlocks(world.kms, [...spelled, ...both], async () => {
    const body = { authentication, authorization: await authorization(), key: dataKey }
    return (await world.post('wrap', body)).status
  })
})

test('Microsoft: a user is blocked by address, UPN, object and role, whichever of them a token leaves out', async () => {
  await using world = await startMicrosoft()
  await world.grant('role:Finance')
  const value = encrypted(await world.publicKey(), secret)
  const send = async (claims: JWTPayload) =>
    (await world.decrypt(await world.token(claims), { alg: 'RSA-OAEP-256', value })).status
  const oid = '690222be-ff1a-4d56-abd1-7e4f7d38e474'
  const names = [
    `microsoft:${oid}`,
    `microsoft:${oid.toUpperCase()}`,
    `microsoft:${tenant}/${oid}`,
    `microsoft:${tenant.toUpperCase()}/${oid}`,
  ]
  await expectBlocks(
    world.kms,
    [...names, 'microsoft:Alice@Contoso.com', 'MICROSOFT:alice@contoso.com'],
    () => send({}),
  )
  // Another address that was granted: the block by the UPN holds.
  await world.grant('ALICE.other@contoso.com')
  await expectBlocks(world.kms, [...names, 'microsoft:alice@contoso.com'], () =>
    send({ email: 'alice.other@contoso.com' }),
  )
  const withoutAddress = { upn: undefined, roles: ['Finance'], appid: 'D3590ED6-52B3-4102-AEFF-AAD2292AB01C' }
  await expectBlocks(
    world.kms,
    [...names, 'microsoft:role:Finance', 'microsoft:d3590ed6-52b3-4102-aeff-aad2292ab01c'],
    () => send(withoutAddress),
  )
  await expectBlocks(world.kms, ['microsoft:bob@contoso.com'], () =>
    send({ preferred_username: 'Bob@contoso.com', unique_name: 'bob@contoso.com' }),
  )
})

test('Azure and AWS: pools, principals and access keys are blocked in any spelling', async () => {
  await using ekm = await startEkm()
  const kid = await aesKey(ekm.kms, `azure:${pool.toUpperCase()}`)
  await expectBlocks(ekm.kms, [`azure:${pool}`, `azure:${pool.toUpperCase()}`, `AZURE:${pool}`], async () => {
    const body = { alg: 'A256KW', value: Buffer.alloc(32, 1).toString('base64url') }
    return (await ekm.send(`${kid}/wrapkey`, body)).status
  })
  await using xks = await startXks()
  const body = {
    requestMetadata: requestMetadata('Encrypt'),
    plaintext: 'YQ==',
    encryptionAlgorithm: 'AES_GCM',
  }
  const names = [
    `aws:${principal}`,
    `aws:${principal.toUpperCase()}`,
    `aws:/aws:${principal}`,
    `AWS:/aws:${principal.toLowerCase()}`,
    `aws:${xks.credential.id}`,
    `aws:${xks.credential.id.toLowerCase()}`,
  ]
  await expectBlocks(xks.kms, names, async () => (await xks.send(`keys/${xks.kid}/encrypt`, body)).status)
})

test('a block of a whole cloud is refused, since the stop switch does that', async () => {
  await using xks = await startXks()
  for (const user_id of ['aws:*', 'AWS:*', 'aws:/aws:*', 'google:*', 'microsoft:*', 'azure:*']) {
    const { status, text } = await xks.kms.user('admin').post('/access/block', { user_id })
    assert.equal(status, 400, user_id)
    assert.match(text, /stop the external key store/)
  }
})

test('a block that was written before names had one form holds, and can be taken away', async () => {
  await using xks = await startXks()
  const { db } = xks.kms.environment
  const written = `aws:${principal}`
  await db.commit([...blockChanges(db, { user: written, at: 1, by: 'admin', reason: '' })])
  const body = {
    requestMetadata: requestMetadata('Encrypt'),
    plaintext: 'YQ==',
    encryptionAlgorithm: 'AES_GCM',
  }
  const send = async () => (await xks.send(`keys/${xks.kid}/encrypt`, body)).status
  assert.equal(await send(), 403)
  assert.equal(
    (await xks.kms.user('admin').del('/access/block', { user_id: written.toLowerCase() })).status,
    200,
  )
  assert.equal(await send(), 200)
})

test('a grant that was written before names had one form counts as it did, and can be taken back', async () => {
  await using xks = await startXks()
  const { db } = xks.kms.environment
  const { kid } = (await xks.kms.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  await db.commit(grantChanges(kid, `aws:${principal}`, ['encrypt']))
  const body = {
    requestMetadata: requestMetadata('Encrypt'),
    plaintext: 'YQ==',
    encryptionAlgorithm: 'AES_GCM',
  }
  const send = async () => (await xks.send(`keys/${kid}/encrypt`, body)).status
  assert.equal(await send(), 200)
  const grant = { unique_identifier: kid, user_id: `aws:${principal}`, operation_types: ['encrypt'] }
  assert.equal((await xks.kms.user('alice').post('/access/revoke', grant)).status, 200)
  assert.equal(await send(), 404)
})
