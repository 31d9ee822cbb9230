import assert from 'node:assert/strict'
import { constants, createCipheriv, createPublicKey, privateDecrypt, publicEncrypt } from 'node:crypto'
import { test } from 'node:test'
import {
  aesKey,
  azureRights,
  type Ekm,
  grantTo,
  pool,
  requestContext,
  rsaKey,
  startEkm,
} from './fixtures/ekm.ts'

/** Of the examples of the EKM Proxy API: 32 bytes. */
const value = 'MTIzNDU2NzgxMjM0NTY3ODEyMzQ1Njc4MTIzNDU2Nzg'

const told = async (ekm: Ekm, rest: string, body: Readonly<Record<string, unknown>> = {}) => {
  const { status, json } = await ekm.send(rest, body)
  if (status === 200) return 200
  assert.deepEqual(Object.keys(json).sort(), ['code', 'message'])
  return `${status} ${json.code}`
}

test('the exchanges of the EKM Proxy API are answered with the members that it names', async () => {
  await using ekm = await startEkm()
  const info = await ekm.send('info')
  assert.equal(info.status, 200, info.text)
  assert.equal(info.json.api_version, '0.1-preview')
  assert.deepEqual(Object.keys(info.json).sort(), [
    'api_version',
    'ekm_product',
    'ekm_vendor',
    'proxy_name',
    'proxy_vendor',
  ])
  const kid = await aesKey(ekm.kms)
  const metadata = await ekm.send(`${kid}/metadata`)
  assert.deepEqual(metadata.json, { key_type: 'oct', key_size: 256, key_ops: ['wrapKey', 'unwrapKey'] })
  for (const alg of ['A256KW', 'A256KWP']) {
    const wrapped = await ekm.send(`${kid}/wrapkey`, { alg, value })
    assert.equal(wrapped.status, 200, wrapped.text)
    assert.equal(Buffer.from(wrapped.json.value, 'base64url').length, 40)
    const opened = await ekm.send(`${kid}/unwrapkey`, { alg, value: wrapped.json.value })
    assert.deepEqual([opened.status, opened.json], [200, { value }])
  }
})

test('wrapping with AES is that of RFC 3394 and RFC 5649, and with RSA that of RFC 7518', async () => {
  await using ekm = await startEkm()
  const { kms } = ekm
  const kid = await aesKey(kms)
  const local = (await kms.services.keys.get(kid as never))?.held.local
  const data = Buffer.from(value, 'base64url')
  for (const [alg, cipher, iv] of [
    ['A256KW', 'aes256-wrap', 'a6a6a6a6a6a6a6a6'],
    ['A256KWP', 'id-aes256-wrap-pad', 'a65959a6'],
  ] as const) {
    const by = createCipheriv(cipher, local as never, Buffer.from(iv, 'hex'))
    const expected = Buffer.concat([by.update(data), by.final()]).toString('base64url')
    assert.equal((await ekm.send(`${kid}/wrapkey`, { alg, value })).json.value, expected)
  }
  for (const [bits, alg, oaepHash] of [
    [2048, 'RSA-OAEP-256', 'sha256'],
    [3072, 'RSA-OAEP', 'sha1'],
  ] as const) {
    const rsa = await rsaKey(kms, bits)
    const { key_type, key_size, n, e } = (await ekm.send(`${rsa}/metadata`)).json
    assert.deepEqual([key_type, key_size, e], ['RSA', bits, 'AQAB'])
    const key = createPublicKey({ format: 'jwk', key: { kty: 'RSA', n, e } })
    const outside = publicEncrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash }, data)
    const opened = await ekm.send(`${rsa}/unwrapkey`, { alg, value: outside.toString('base64url') })
    assert.equal(opened.json.value, value)
    const wrapped = await ekm.send(`${rsa}/wrapkey`, { alg, value })
    const privateKey = (await kms.services.keys.get(rsa as never))?.held.local
    const padding = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash }
    const bytes = privateDecrypt(
      { key: privateKey as never, ...padding },
      Buffer.from(wrapped.json.value, 'base64url'),
    )
    assert.deepEqual(bytes, data)
  }
})

test('another version of the API, and none, are told as such', async () => {
  await using ekm = await startEkm()
  const kid = await aesKey(ekm.kms)
  for (const query of [
    '',
    '?',
    '?api-version=',
    '?api-version=1.0',
    '?api-version=0.1-PREVIEW',
    '?version=0.1-preview',
  ])
    for (const rest of ['info', `${kid}/metadata`, `${kid}/wrapkey`]) {
      const { status, json } = await ekm.caller.post(`/azureekm/${rest}${query}`, {
        request_context: requestContext,
        alg: 'A256KW',
        value,
      })
      assert.deepEqual([status, json.code], [400, 'UnsupportedApiVersion'], `${rest}${query}`)
    }
  const twice = `/azureekm/info?api-version=0.1-preview&api-version=0.1-preview`
  assert.equal(
    (await ekm.caller.post(twice, { request_context: requestContext })).json.code,
    'InvalidRequest',
  )
})

test('algorithms, lengths and values that do not fit are refused by their codes', async () => {
  await using ekm = await startEkm()
  const { kms } = ekm
  const aes = await aesKey(kms)
  const rsa = await rsaKey(kms)
  const bytes = (count: number): string => Buffer.alloc(count, 7).toString('base64url')
  const cases: readonly (readonly [rest: string, alg: unknown, value: unknown, answer: unknown])[] = [
    [`${aes}/wrapkey`, 'A128KW', value, '400 UnsupportedAlgorithm'],
    [`${aes}/wrapkey`, 'a256kw', value, '400 UnsupportedAlgorithm'],
    [`${aes}/wrapkey`, '__proto__', value, '400 UnsupportedAlgorithm'],
    [`${aes}/wrapkey`, 'RSA-OAEP-256', value, '400 UnsupportedAlgorithm'],
    [`${rsa}/wrapkey`, 'A256KW', value, '400 UnsupportedAlgorithm'],
    [`${rsa}/wrapkey`, 'RSA1_5', value, '400 UnsupportedAlgorithm'],
    [`${aes}/wrapkey`, 'A256KW', bytes(15), '400 InvalidRequest'],
    [`${aes}/wrapkey`, 'A256KW', bytes(8), '400 InvalidRequest'],
    [`${aes}/wrapkey`, 'A256KW', bytes(20), '400 InvalidRequest'],
    [`${aes}/wrapkey`, 'A256KW', bytes(16), 200],
    [`${aes}/wrapkey`, 'A256KWP', bytes(7), '400 InvalidRequest'],
    [`${aes}/wrapkey`, 'A256KWP', bytes(9), 200],
    [`${aes}/wrapkey`, 'A256KWP', bytes(16 * 1024), 200],
    [`${aes}/wrapkey`, 'A256KWP', bytes(16 * 1024 + 1), '400 InvalidRequest'],
    [`${aes}/wrapkey`, 'A256KWP', '', '400 InvalidRequest'],
    [`${aes}/wrapkey`, 'A256KWP', `${value}=`, '400 InvalidRequest'],
    [`${aes}/wrapkey`, 'A256KWP', `${value}+/`, '400 InvalidRequest'],
    [`${aes}/wrapkey`, 'A256KWP', 7, '400 InvalidRequest'],
    [`${aes}/wrapkey`, undefined, value, '400 InvalidRequest'],
    [`${aes}/unwrapkey`, 'A256KW', bytes(40), '400 InvalidRequest'],
    [`${aes}/unwrapkey`, 'A256KWP', bytes(40), '400 InvalidRequest'],
    [`${aes}/unwrapkey`, 'A256KW', bytes(16), '400 InvalidRequest'],
    [`${rsa}/wrapkey`, 'RSA-OAEP-256', bytes(190), 200],
    [`${rsa}/wrapkey`, 'RSA-OAEP-256', bytes(191), '400 InvalidRequest'],
    [`${rsa}/unwrapkey`, 'RSA-OAEP-256', bytes(256), '400 InvalidRequest'],
    [`${rsa}/unwrapkey`, 'RSA-OAEP-256', bytes(257), '400 InvalidRequest'],
    [`${rsa}/unwrapkey`, 'RSA-OAEP-256', bytes(513), '400 InvalidRequest'],
  ]
  for (const [rest, alg, given, answer] of cases)
    assert.equal(await told(ekm, rest, { alg, value: given }), answer, `${rest} ${alg} ${given}`)
  for (const context of [undefined, {}, 'x', { ...requestContext, pool_name: undefined }])
    assert.equal(await told(ekm, 'info', { request_context: context }), '400 InvalidRequest')
  const { request_id: _, ...least } = requestContext
  assert.equal(await told(ekm, 'info', { request_context: { ...least, more: 1 } }), 200)
  assert.equal(await told(ekm, `${'a'.repeat(65)}/metadata`), '400 InvalidRequest')
  assert.equal(await told(ekm, 'a_b/metadata'), '400 InvalidRequest')
  assert.equal(await told(ekm, 'nothing/metadata'), '404 KeyNotFound')
  assert.equal(await told(ekm, 'nothing'), '404 KeyNotFound')
  const got = await ekm.caller.get('/azureekm/info?api-version=0.1-preview')
  assert.deepEqual([got.status, got.headers.allow], [405, 'POST'])
})

test('keys are used as they are granted to the pool of the certificate, whatever pool the body names', async () => {
  await using ekm = await startEkm()
  const { kms } = ekm
  const wrap = async (kid: string, pool_name = requestContext.pool_name) =>
    told(ekm, `${kid}/wrapkey`, {
      request_context: { ...requestContext, pool_name },
      alg: 'A256KWP',
      value,
    })
  const absent = '404 KeyNotFound'
  for (const user of ['*', pool, 'contoso', 'aws:*', 'alice2'])
    assert.equal(await wrap(await aesKey(kms, user)), absent, user)
  const fabrikam = await aesKey(kms, 'azure:fabrikam.managedhsmclient.azure.net')
  assert.equal(await wrap(fabrikam), '403 Forbidden')
  assert.equal(await wrap(fabrikam, 'fabrikam.managedhsmclient.azure.net'), '403 Forbidden')
  assert.equal(await wrap(await aesKey(kms, 'azure:*')), 200)
  const kid = await aesKey(kms)
  assert.equal(await wrap(kid), 200)
  const alice = kms.user('alice')
  const taken = { unique_identifier: kid, user_id: `azure:${pool}`, operation_types: ['encrypt'] }
  await alice.post('/access/revoke', taken)
  assert.equal(await wrap(kid), '403 Forbidden')
  assert.equal(await told(ekm, `${kid}/metadata`), 200)
})

test('keys of other kinds and states are told as the API has them', async () => {
  await using ekm = await startEkm()
  const { kms } = ekm
  const alice = kms.user('alice')
  const notAllowed = '403 OperationNotAllowed'
  for (const body of [
    { kty: 'oct', alg: 'A128GCM' },
    { kty: 'oct', alg: 'HS256' },
    { kty: 'EC', crv: 'P-256' },
  ]) {
    const { kid } = (await alice.post('/v1/crypto/keys', body)).json
    await grantTo(kms, kid, 'azure:*', azureRights)
    assert.equal(await told(ekm, `${kid}/metadata`), notAllowed, body.kty)
    assert.equal(await told(ekm, `${kid}/wrapkey`, { alg: 'A256KW', value }), notAllowed)
  }
  const bound = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json.kid
  await grantTo(kms, bound, 'azure:*', azureRights)
  assert.equal(await told(ekm, `${bound}/wrapkey`, { alg: 'A256KW', value }), notAllowed)
  const signs = await rsaKey(kms, 2048, 'PS256')
  assert.equal(await told(ekm, `${signs}/wrapkey`, { alg: 'RSA-OAEP-256', value }), notAllowed)
  const oaep = await rsaKey(kms, 2048, 'RSA-OAEP-256')
  assert.equal(await told(ekm, `${oaep}/wrapkey`, { alg: 'RSA-OAEP-256', value }), 200)
  assert.equal(await told(ekm, `${oaep}/wrapkey`, { alg: 'RSA-OAEP', value }), notAllowed)

  const { query, change } = await import('@warder/storage')
  const kid = await aesKey(kms)
  const wrapped = (await ekm.send(`${kid}/wrapkey`, { alg: 'A256KW', value })).json.value
  const of = async () => [
    await told(ekm, `${kid}/metadata`),
    await told(ekm, `${kid}/wrapkey`, { alg: 'A256KW', value }),
    await told(ekm, `${kid}/unwrapkey`, { alg: 'A256KW', value: wrapped }),
  ]
  const state = (assignments: string) =>
    kms.environment.db.commit([
      change(query(`UPDATE managed_object SET ${assignments}, version = version + 1 WHERE id = ?`), [kid], 1),
    ])
  assert.deepEqual(await of(), [200, 200, 200])
  const disabled = '403 KeyDisabled'
  for (const name of ['PreActive', 'Deactivated', 'Compromised']) {
    await state(`state = '${name}', activation_at = NULL`)
    assert.deepEqual(await of(), [disabled, disabled, disabled], name)
  }
  await state("state = 'Active', archived_at = 5")
  assert.deepEqual(await of(), [disabled, disabled, disabled])
  await state('archived_at = NULL, usage_mask = 16')
  assert.deepEqual(await of(), [200, 200, notAllowed])
  await state("state = 'Destroyed'")
  const gone = '404 KeyNotFound'
  assert.deepEqual(await of(), [gone, gone, gone])
})

test('a record has the ids of Azure, the pool of the certificate and the key', async () => {
  await using ekm = await startEkm()
  const kid = await aesKey(ekm.kms)
  await ekm.send(`${kid}/wrapkey`, { alg: 'A256KW', value })
  const record = ekm.kms.audit.at(-1)
  assert.deepEqual(
    [record?.operation, record?.principal, record?.auth_method, record?.object, record?.algorithm],
    ['azure.ekm.wrapkey', `azure:${pool}`, 'mtls', kid, 'A256KW'],
  )
  assert.deepEqual(record?.details, {
    vendor_request_id: requestContext.correlation_id,
    client_request_id: requestContext.request_id,
    pool_name: requestContext.pool_name,
  })
  assert.ok(!JSON.stringify([ekm.kms.audit, ekm.kms.log]).includes(value))
})
