import assert from 'node:assert/strict'
import { test } from 'node:test'
import { awsRights, principal, requestMetadata, sendSigned } from './aws/fixtures/xks.ts'
import { dataKey, owner, startGoogle, wrappingKid } from './google/testing/world.ts'
import { readBlob, writeBlob } from './google/wrapping-key.ts'

test('what one cloud encrypted opens at no other, though both may use the same key', async () => {
  await using world = await startGoogle({ config: { 'aws_xks_config.aws_xks_enable': true } })
  const { kms } = world
  const made = await kms.user('admin').post('/v1/external-stores/aws/access-keys', { region: 'eu-west-1' })
  const granted = { unique_identifier: wrappingKid, user_id: `aws:${principal}`, operation_types: awsRights }
  assert.equal((await kms.user(owner).post('/access/grant', granted)).status, 200)
  const credential = { id: made.json.id, secret: made.json.secret }
  const aws = (operation: string, body: object) =>
    sendSigned(kms.with({}), `/aws/kms/xks/v1/keys/${wrappingKid}/${operation}`, body, { credential })

  const wrapped = await world.post('wrap', { ...(await world.tokens()), key: dataKey })
  const blob = readBlob(Buffer.from(wrapped.json.wrapped_key, 'base64'), 'data key')
  assert.ok(blob !== undefined)
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
  const sealed = await aws('encrypt', {
    requestMetadata: requestMetadata('Encrypt'),
    plaintext: dataKey,
    encryptionAlgorithm: 'AES_GCM',
  })
  assert.equal(sealed.status, 200, sealed.text)
  const { ciphertextMetadata, ...parts } = sealed.json
  const decrypt = { requestMetadata: requestMetadata('Decrypt'), encryptionAlgorithm: 'AES_GCM' }
  assert.equal((await aws('decrypt', { ...decrypt, ciphertextMetadata, ...parts })).status, 200)

  const ofGoogle = {
    ciphertext: base64(blob.ciphertext),
    initializationVector: base64(blob.iv),
    authenticationTag: base64(blob.tag),
  }
  for (const more of [
    {},
    { ciphertextMetadata },
    { additionalAuthenticatedData: base64(Buffer.from('item123')) },
  ]) {
    const answer = await aws('decrypt', { ...decrypt, ...ofGoogle, ...more })
    assert.deepEqual([answer.status, answer.json.errorName], [400, 'InvalidCiphertextException'])
  }
  const bytes = (text: string) => Buffer.from(text, 'base64')
  const ofAws = writeBlob({
    ...blob,
    ciphertext: bytes(parts.ciphertext),
    iv: bytes(parts.initializationVector),
    tag: bytes(parts.authenticationTag),
  })
  const opened = await world.post('unwrap', { ...(await world.tokens()), wrapped_key: base64(ofAws) })
  assert.equal(opened.status, 400)
  assert.equal(opened.json.message, 'wrapped_key: was not wrapped by this service for this use.')
})
