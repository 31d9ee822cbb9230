import assert from 'node:assert/strict'
import { test } from 'node:test'
import { awsRights, grantedKey, principal, requestMetadata, startXks, type Xks } from './fixtures/xks.ts'

const plaintext = Buffer.from('a data key').toString('base64')

async function encrypt({ send }: Xks, name: string) {
  const answer = await send(`keys/${name}/encrypt`, {
    requestMetadata: requestMetadata('Encrypt'),
    plaintext,
    encryptionAlgorithm: 'AES_GCM',
    additionalAuthenticatedData: 'AAAA',
    ciphertextDataIntegrityValueAlgorithm: 'SHA_256',
  })
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}

async function decrypt({ send }: Xks, name: string, made: Record<string, string>) {
  const { ciphertextDataIntegrityValue: _, ...parts } = made
  const { json } = await send(`keys/${name}/decrypt`, {
    requestMetadata: requestMetadata('Decrypt'),
    encryptionAlgorithm: 'AES_GCM',
    additionalAuthenticatedData: 'AAAA',
    ...parts,
  })
  return json.plaintext ?? json.errorName
}

const bytesOf = (made: Record<string, string>) => Buffer.from(made.ciphertextMetadata ?? '', 'base64')

test('a rotated key encrypts with its newest version, and opens what each version made', async () => {
  await using xks = await startXks()
  const { kms, kid } = xks
  const before = await encrypt(xks, kid)
  assert.equal(bytesOf(before).length, 1)
  const { version_kid: second } = (await kms.user('alice').post(`/v1/crypto/keys/${kid}/rotate`, {})).json
  const after = await encrypt(xks, kid)
  assert.equal(bytesOf(after).toString('hex', 1), second.replaceAll('-', ''))
  assert.deepEqual([await decrypt(xks, kid, before), await decrypt(xks, kid, after)], [plaintext, plaintext])
  // The name is authenticated: neither an old version nor somebody else's key can replace it.
  const other = await grantedKey(kms, `aws:${principal}`)
  for (const id of [kid, other, '00000000-0000-7000-8000-000000000000']) {
    const metadata = Buffer.concat([Buffer.of(2), Buffer.from(id.replaceAll('-', ''), 'hex')])
    const changed = { ...after, ciphertextMetadata: metadata.toString('base64') }
    assert.equal(await decrypt(xks, kid, changed), 'InvalidCiphertextException', id)
  }
  // Nor does the path of one key open what another one made, which was granted, too.
  await kms.user('alice').post(`/v1/crypto/keys/${other}/rotate`, {})
  const foreign = await encrypt(xks, other)
  assert.deepEqual(
    [await decrypt(xks, other, foreign), await decrypt(xks, kid, foreign)],
    [plaintext, 'InvalidCiphertextException'],
  )
  await kms.user('alice').post(`/v1/crypto/keys/${kid}/rotate`, {})
  await oldest(xks, kid, 3)
  for (const made of [before, after]) assert.equal(await decrypt(xks, kid, made), 'InvalidStateException')
  await oldest(xks, kid, 1)
  for (const made of [before, after]) assert.equal(await decrypt(xks, kid, made), plaintext)
  assert.equal((await kms.user('alice').post(`/v1/crypto/keys/${kid}/disable`, {})).status, 200)
  assert.equal(await decrypt(xks, kid, after), 'InvalidStateException')
})

async function oldest({ kms }: Xks, kid: string, version: number): Promise<void> {
  const json = { min_decrypt_version: version }
  const answer = await kms.user('alice').call('PUT', `/v1/crypto/keys/${kid}/rotation`, { json })
  assert.equal(answer.status, 200, answer.text)
}

test('a key is named by an alias of who made the access key; when it moves, what was made before still opens', async () => {
  await using xks = await startXks()
  const { kms, kid } = xks
  const [admin, alice] = [kms.user('admin'), kms.user('alice')]
  const first = await grantedKey(kms, `aws:${principal}`)
  // The alias is the admin's, and gives no right: the keys were granted by alice.
  for (const key of [kid, first])
    assert.equal(
      (
        await alice.post('/access/grant', {
          unique_identifier: key,
          user_id: 'admin',
          operation_types: ['getattributes'],
        })
      ).status,
      200,
    )
  assert.equal(
    await decrypt(xks, 'invoices', await encrypt(xks, first)),
    'KeyNotFoundException',
    'an alias that nobody made',
  )
  const made = await admin.post('/v1/crypto/aliases', { alias: 'alias/invoices', kid: first })
  assert.ok(made.status < 300, made.text)
  const before = await encrypt(xks, 'invoices')
  assert.equal(await decrypt(xks, 'invoices', before), plaintext)
  const moved = await admin.call('PUT', '/v1/crypto/aliases/alias%2Finvoices', { json: { kid } })
  assert.ok(moved.status < 300, moved.text)
  const after = await encrypt(xks, 'invoices')
  assert.notDeepEqual(bytesOf(after), bytesOf(before))
  assert.deepEqual(
    [await decrypt(xks, 'invoices', before), await decrypt(xks, 'invoices', after)],
    [plaintext, plaintext],
  )
  // The key that it named before opens no more than under its own id.
  await alice.post(`/v1/crypto/keys/${first}/rotate`, {})
  await oldest(xks, first, 2)
  assert.equal(await decrypt(xks, 'invoices', before), 'InvalidStateException')
  await oldest(xks, first, 1)
  // It must still be granted.
  await alice.post('/access/revoke', {
    unique_identifier: first,
    user_id: `aws:${principal}`,
    operation_types: awsRights,
  })
  assert.equal(await decrypt(xks, 'invoices', before), 'KeyNotFoundException')
  assert.equal(await decrypt(xks, 'invoices', after), plaintext)
  // By its id the key opens what it made behind the alias, too.
  assert.equal(await decrypt(xks, kid, after), plaintext)
  // An alias of somebody else is none here.
  assert.ok((await alice.post('/v1/crypto/aliases', { alias: 'alias/hers', kid })).status < 300)
  assert.equal(await decrypt(xks, 'hers', after), 'KeyNotFoundException')
})
