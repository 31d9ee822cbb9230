import assert from 'node:assert/strict'
import { test } from 'node:test'
import { principal, requestMetadata, startXks } from './fixtures/xks.ts'

test('a principal of AWS, or an access key, that is blocked uses no key from the next request on', async () => {
  await using xks = await startXks()
  const body = {
    requestMetadata: requestMetadata('Encrypt'),
    plaintext: Buffer.from('attack at dawn').toString('base64'),
    encryptionAlgorithm: 'AES_GCM',
  }
  const encrypt = async () => (await xks.send(`keys/${xks.kid}/encrypt`, body)).status
  const admin = xks.kms.user('admin')
  assert.equal(await encrypt(), 200)
  for (const user_id of [`aws:${principal}`, `aws:${xks.credential.id}`]) {
    assert.equal((await admin.post('/access/block', { user_id })).status, 200)
    assert.equal(await encrypt(), 403, user_id)
    assert.equal((await admin.del('/access/block', { user_id })).status, 200)
    assert.equal(await encrypt(), 200)
  }
})
