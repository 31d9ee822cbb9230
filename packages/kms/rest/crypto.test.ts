import assert from 'node:assert/strict'
import { createHmac, createPublicKey, createSecretKey, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { FlattenedEncrypt, FlattenedSign, flattenedDecrypt, flattenedVerify, importJWK } from 'jose'
import { startSharedKms } from '../testing/start.ts'

const kms = await startSharedKms()
const alice = kms.user('alice')

const b64 = (bytes: Uint8Array | string): string => Buffer.from(bytes as never).toString('base64url')
const data = b64('attack at dawn')
const make = async (body: object): Promise<Record<string, string>> => {
  const made = await alice.post('/v1/crypto/keys', body)
  assert.equal(made.status, 200, made.text)
  return made.json
}
const refused = async (path: string, body: unknown, status: number, error: string): Promise<void> => {
  const answer = await alice.post(path, body)
  assert.deepEqual([answer.status, answer.json?.error], [status, error], answer.text)
}
const header = (members: object): string => b64(JSON.stringify(members))

test('AES-GCM of each size makes a round trip, with and without additional data', async () => {
  for (const enc of ['A128GCM', 'A192GCM', 'A256GCM']) {
    const key = await make({ kty: 'oct', alg: enc })
    assert.deepEqual({ ...key, kid: '' }, { kid: '', kty: 'oct', alg: enc, key_ops: ['encrypt', 'decrypt'] })
    for (const aad of [undefined, b64('context')]) {
      const sealed = await alice.post('/v1/crypto/encrypt', { kid: key.kid, alg: 'dir', enc, data, aad })
      assert.equal(sealed.status, 200, sealed.text)
      assert.equal(sealed.json.encrypted_key, '')
      assert.equal(sealed.json.aad, aad)
      const wanted = `{"alg":"dir","enc":"${enc}","kid":"${key.kid}"}`
      assert.equal(Buffer.from(sealed.json.protected, 'base64url').toString(), wanted)
      const opened = await alice.post('/v1/crypto/decrypt', sealed.json)
      assert.deepEqual(opened.json, { kid: key.kid, data })
      const other = await alice.post('/v1/crypto/decrypt', { ...sealed.json, aad: b64('other') })
      assert.deepEqual([other.status, other.json.error], [422, 'decryption_failed'])
    }
  }
})

test('RSA-OAEP opens under the private and the public kid, and the header names the private key', async () => {
  const pair = await make({ kty: 'RSA' })
  for (const alg of ['RSA-OAEP', 'RSA-OAEP-256']) {
    for (const kid of [pair.kid, pair.kid_public]) {
      const sealed = (await alice.post('/v1/crypto/encrypt', { kid, alg, enc: 'A256GCM', data })).json
      assert.equal(JSON.parse(Buffer.from(sealed.protected, 'base64url').toString()).kid, pair.kid)
      assert.equal((await alice.post('/v1/crypto/decrypt', sealed)).json.data, data)
      const broken = { ...sealed, encrypted_key: b64(randomBytes(256)) }
      const wrongKey = await alice.post('/v1/crypto/decrypt', broken)
      const wrongTag = await alice.post('/v1/crypto/decrypt', { ...sealed, tag: b64(randomBytes(16)) })
      assert.deepEqual([wrongKey.status, wrongKey.json], [wrongTag.status, wrongTag.json])
      assert.equal(wrongKey.json.error, 'decryption_failed')
    }
  }
})

test('every signature algorithm signs, verifies, and refuses changed data', async () => {
  const rsa = await make({ kty: 'RSA', bits: 2048 })
  const keys: [string, Record<string, string>][] = [
    ['ES256', await make({ kty: 'EC', crv: 'P-256', alg: 'ES256' })],
    ['ES384', await make({ kty: 'EC', crv: 'P-384' })],
    ['ES512', await make({ kty: 'EC', crv: 'P-521', alg: 'ES512' })],
    ['EdDSA', await make({ kty: 'OKP', alg: 'EdDSA' })],
    ['MLDSA44', await make({ kty: 'OKP', alg: 'MLDSA44' })],
    ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'].map((alg): [string, Record<string, string>] => [
      alg,
      rsa,
    ]),
  ]
  for (const [alg, { kid, kid_public }] of keys) {
    const signed = await alice.post('/v1/crypto/sign', { kid, alg, data })
    assert.equal(signed.status, 200, `${alg} ${signed.text}`)
    assert.deepEqual(JSON.parse(Buffer.from(signed.json.protected, 'base64url').toString()), {
      alg,
      kid: kid_public,
    })
    const right = await alice.post('/v1/crypto/verify', { ...signed.json, data })
    assert.deepEqual(right.json, { kid: kid_public, valid: true }, alg)
    for (const signature of ['', b64('x'), b64(randomBytes(64)), `${signed.json.signature.slice(4)}`]) {
      const wrong = await alice.post('/v1/crypto/verify', { ...signed.json, data, signature })
      assert.deepEqual([wrong.status, wrong.json.valid], [200, false], alg)
    }
    assert.equal(
      (await alice.post('/v1/crypto/verify', { ...signed.json, data: b64('other') })).json.valid,
      false,
    )
  }
})

test('RFC 7515 A.1: HS256 over the signing input of the example', async () => {
  const k = 'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow'
  const input =
    'eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ'
  const { kid } = await make({ kty: 'oct', alg: 'HS256', k })
  const computed = await alice.post('/v1/crypto/mac', { kid, alg: 'HS256', data: b64(input) })
  assert.deepEqual(computed.json, { kid, mac: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' })
  const checked = await alice.post('/v1/crypto/mac', {
    kid,
    alg: 'HS256',
    data: b64(input),
    mac: computed.json.mac,
  })
  assert.deepEqual(checked.json, { kid, valid: true })
  const short = await alice.post('/v1/crypto/mac', { kid, alg: 'HS256', data: b64(input), mac: b64('x') })
  assert.deepEqual(short.json, { kid, valid: false })
})

test('jose decrypts messages of the service and verifies its signatures', async () => {
  const secret = randomBytes(32)
  const { kid } = await make({ kty: 'oct', alg: 'A256GCM', k: b64(secret) })
  const sealed = (
    await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data, aad: b64('a') })
  ).json
  const jwe = { ...sealed }
  delete jwe.encrypted_key
  assert.equal(b64((await flattenedDecrypt(jwe, secret)).plaintext), data)

  const pair = await make({ kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const { public_jwk } = (await alice.get(`/v1/crypto/keys/${pair.kid_public}`)).json
  const signed = (await alice.post('/v1/crypto/sign', { kid: pair.kid, alg: 'ES256', data })).json
  const key = await importJWK(public_jwk, 'ES256')
  await flattenedVerify({ ...signed, payload: data }, key)
  await assert.rejects(flattenedVerify({ ...signed, payload: b64('other') }, key))
})

test('the service decrypts messages of jose and verifies its signatures', async () => {
  const secret = randomBytes(16)
  const { kid = '' } = await make({ kty: 'oct', alg: 'A128GCM', k: b64(secret) })
  const sealed = await new FlattenedEncrypt(Buffer.from('attack at dawn'))
    .setProtectedHeader({ alg: 'dir', enc: 'A128GCM', kid })
    .setAdditionalAuthenticatedData(Buffer.from('aad'))
    .encrypt(secret)
  const opened = await alice.post('/v1/crypto/decrypt', sealed)
  assert.equal(opened.json.data, data, opened.text)

  const rsa = await make({ kty: 'RSA', alg: 'RSA-OAEP-256' })
  const { public_jwk } = (await alice.get(`/v1/crypto/keys/${rsa.kid_public}`)).json
  const wrapped = await new FlattenedEncrypt(Buffer.from('attack at dawn'))
    .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A192GCM', kid: rsa.kid ?? '' })
    .encrypt(await importJWK(public_jwk, 'RSA-OAEP-256'))
  assert.equal((await alice.post('/v1/crypto/decrypt', wrapped)).json.data, data)

  const { privateKey } = (await import('node:crypto')).generateKeyPairSync('ed25519')
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' })
  const imported = await make({ kty: 'OKP', alg: 'EdDSA', crv: 'Ed25519', d, x })
  assert.equal(imported.kid_public, null)
  const jws = await new FlattenedSign(Buffer.from('attack at dawn'))
    .setProtectedHeader({ alg: 'EdDSA', kid: imported.kid ?? '' })
    .sign(privateKey)
  const checked = await alice.post('/v1/crypto/verify', {
    protected: jws.protected,
    data,
    signature: jws.signature,
  })
  assert.deepEqual(checked.json, { kid: imported.kid, valid: true })
})

test('a wrapped key is taken in and opens later messages', async () => {
  const rsa = await make({ kty: 'RSA' })
  const { public_jwk } = (await alice.get(`/v1/crypto/keys/${rsa.kid_public}`)).json
  const { publicEncrypt, constants } = await import('node:crypto')
  const key = createPublicKey({ key: public_jwk, format: 'jwk' })
  const cek = randomBytes(32)
  const wrap = (bytes: Uint8Array): string =>
    b64(publicEncrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }, bytes))
  const good = {
    protected: header({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: rsa.kid_public }),
    encrypted_key: wrap(cek),
  }
  const taken = await alice.post('/v1/crypto/keys/unwrap', good)
  assert.deepEqual(
    { ...taken.json, kid: '' },
    { kid: '', kty: 'oct', alg: 'A256GCM', key_ops: ['encrypt', 'decrypt'] },
  )
  const { kid } = taken.json
  const sealed = await new FlattenedEncrypt(Buffer.from('attack at dawn'))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid })
    .encrypt(createSecretKey(cek))
  assert.equal((await alice.post('/v1/crypto/decrypt', sealed)).json.data, data)

  const unwrap = '/v1/crypto/keys/unwrap'
  const named = (members: object): object => ({
    ...good,
    protected: header({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: rsa.kid, ...members }),
  })
  await refused(unwrap, { ...good, protected: '***' }, 400, 'bad_request')
  await refused(unwrap, { ...good, encrypted_key: 'a+b=' }, 400, 'bad_request')
  for (const member of ['kid', 'alg', 'enc'])
    await refused(unwrap, named({ [member]: undefined }), 400, 'bad_request')
  await refused(unwrap, { ...good, encrypted_key: '' }, 400, 'bad_request')
  for (const alg of ['dir', 'A128KW', 'RSA1_5', 'ECDH-ES', 'none'])
    await refused(unwrap, named({ alg }), 422, 'unsupported_algorithm')
  await refused(unwrap, named({ enc: 'A128CBC-HS256' }), 422, 'unsupported_algorithm')
  await refused(unwrap, named({ kid: '0190a0b0-0000-7000-8000-000000000000' }), 404, 'not_found')
  await refused(unwrap, { ...good, encrypted_key: b64(randomBytes(256)) }, 422, 'decryption_failed')
  await refused(unwrap, { ...good, encrypted_key: wrap(randomBytes(16)) }, 422, 'crypto_failure')
})

test('algorithms that are not implemented are 422, everywhere', async () => {
  const { kid } = await make({ kty: 'oct', alg: 'A256GCM' })
  for (const alg of ['RSA1_5', 'A128KW', 'ECDH-ES', 'none', '', 'constructor', '__proto__']) {
    await refused('/v1/crypto/encrypt', { kid, alg, enc: 'A256GCM', data }, 422, 'unsupported_algorithm')
    await refused('/v1/crypto/sign', { kid, alg, data }, 422, 'unsupported_algorithm')
    await refused('/v1/crypto/mac', { kid, alg, data }, 422, 'unsupported_algorithm')
  }
  await refused(
    '/v1/crypto/encrypt',
    { kid, alg: 'dir', enc: 'A128CBC-HS256', data },
    422,
    'unsupported_algorithm',
  )
  await refused('/v1/crypto/sign', { kid, alg: 'HS256', data }, 422, 'unsupported_algorithm')
  await refused('/v1/crypto/keys', { kty: 'oct', alg: 'A128CBC-HS256' }, 422, 'unsupported_algorithm')
})

test('keys of the wrong type, size or binding are 422', async () => {
  const aes = await make({ kty: 'oct', alg: 'A256GCM' })
  const hmac = await make({ kty: 'oct', alg: 'HS256' })
  const ec = await make({ kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const bound = await make({ kty: 'RSA', alg: 'RS256' })
  const cases: [string, object][] = [
    ['encrypt', { kid: aes.kid, alg: 'dir', enc: 'A128GCM', data }],
    ['encrypt', { kid: hmac.kid, alg: 'dir', enc: 'A256GCM', data }],
    ['encrypt', { kid: aes.kid, alg: 'RSA-OAEP', enc: 'A256GCM', data }],
    ['encrypt', { kid: ec.kid, alg: 'RSA-OAEP', enc: 'A256GCM', data }],
    ['encrypt', { kid: bound.kid, alg: 'RSA-OAEP', enc: 'A256GCM', data }],
    ['sign', { kid: aes.kid, alg: 'RS256', data }],
    ['sign', { kid: ec.kid, alg: 'ES384', data }],
    ['sign', { kid: ec.kid_public, alg: 'ES256', data }],
    ['sign', { kid: bound.kid, alg: 'PS256', data }],
    ['mac', { kid: aes.kid, alg: 'HS256', data }],
    ['mac', { kid: hmac.kid, alg: 'HS512', data }],
    ['mac', { kid: bound.kid, alg: 'HS256', data }],
    ['verify', { protected: header({ alg: 'ES256', kid: aes.kid }), data, signature: '' }],
  ]
  for (const [verb, body] of cases) await refused(`/v1/crypto/${verb}`, body, 422, 'crypto_failure')
})

test('malformed requests are 400 and change nothing', async () => {
  const { kid } = await make({ kty: 'oct', alg: 'A256GCM' })
  const sealed = (await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })).json
  const dir = (members: object): string => header({ alg: 'dir', enc: 'A256GCM', kid, ...members })
  const decrypts: object[] = [
    { ...sealed, iv: b64(randomBytes(16)) },
    { ...sealed, tag: b64(randomBytes(8)) },
    { ...sealed, encrypted_key: b64('x') },
    { ...sealed, iv: undefined },
    { ...sealed, ciphertext: `${sealed.ciphertext}=` },
    { ...sealed, protected: dir({ zip: 'DEF' }) },
    { ...sealed, protected: dir({ crit: ['exp'] }) },
    { ...sealed, protected: dir({ kid: [kid] }) },
    { ...sealed, protected: dir({ kid: undefined }) },
    { ...sealed, protected: b64('[]') },
    { ...sealed, protected: b64(`{"alg":"dir","alg":"dir","enc":"A256GCM","kid":"${kid}"}`) },
  ]
  for (const body of decrypts) await refused('/v1/crypto/decrypt', body, 400, 'bad_request')
  await refused(
    '/v1/crypto/verify',
    { protected: header({ alg: 'ES256' }), data, signature: '' },
    400,
    'bad_request',
  )
  await refused(
    '/v1/crypto/verify',
    { protected: header({ alg: 'ES256', kid, b64: false }), data, signature: '' },
    400,
    'bad_request',
  )
  for (const wrong of ['a=', 'a b', 'YQ==', 'YR', '/+']) {
    await refused('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: wrong }, 400, 'bad_request')
  }
  for (const wrong of [
    {},
    { kid, alg: 'dir', enc: 'A256GCM' },
    { kid: 1, alg: 'dir', enc: 'A256GCM', data },
  ]) {
    await refused('/v1/crypto/encrypt', wrong, 400, 'bad_request')
  }
  for (const wrong of [
    { kty: 'oct' },
    { kty: 'EC' },
    { kty: 'xyz' },
    { kty: 'RSA', bits: 1024 },
    { kty: 'RSA', bits: 65_536 },
    { kty: 'EC', crv: 'P-384', alg: 'ES256' },
    { kty: 'oct', alg: 'ES256' },
    { kty: 'oct', alg: 'A256GCM', k: b64(randomBytes(16)) },
    { kty: 'oct', alg: 'HS256', k: b64(randomBytes(31)) },
    { kty: 'EC', crv: 'P-256', d: b64(Buffer.alloc(32)) },
    { kty: 'oct', alg: 'A256GCM', tags: ['_sk'] },
    { kty: 'oct', alg: 'A256GCM', tags: [''] },
  ]) {
    await refused('/v1/crypto/keys', wrong, 400, 'bad_request')
  }
})

test('ids that cannot exist do not exist', async () => {
  for (const kid of [
    "'; DROP TABLE managed_object; --",
    '../../etc/passwd',
    'x'.repeat(4096),
    '%00',
    '*',
    '',
  ]) {
    await refused('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data }, 404, 'not_found')
    await refused('/v1/crypto/mac', { kid, alg: 'HS256', data }, 404, 'not_found')
    const gone = await alice.del(`/v1/crypto/keys/${encodeURIComponent(kid || 'x')}`)
    assert.ok(gone.status === 404 || gone.status === 400, kid)
  }
  await refused(
    '/v1/crypto/encrypt',
    { kid: 'a\u0000b', alg: 'dir', enc: 'A256GCM', data },
    400,
    'bad_request',
  )
})

test('a deleted key is removed at once, with the other key of its pair', async () => {
  const pair = await make({ kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const signed = (await alice.post('/v1/crypto/sign', { kid: pair.kid, alg: 'ES256', data })).json
  const gone = await alice.del(`/v1/crypto/keys/${pair.kid_public}`)
  assert.deepEqual([gone.status, gone.text], [204, ''])
  await refused('/v1/crypto/sign', { kid: pair.kid, alg: 'ES256', data }, 404, 'not_found')
  await refused('/v1/crypto/verify', { ...signed, data }, 404, 'not_found')
  assert.equal((await alice.del(`/v1/crypto/keys/${pair.kid}`)).status, 404)
})

test('a batch answers each item in its place, with a record each', async () => {
  const aes = await make({ kty: 'oct', alg: 'A256GCM' })
  const hmac = await make({ kty: 'oct', alg: 'HS256' })
  const before = kms.audit.length
  const { json, status } = await alice.post('/v1/crypto/batch', {
    operations: [
      { op: 'encrypt', kid: aes.kid, alg: 'dir', enc: 'A256GCM', data },
      { op: 'mac', kid: hmac.kid, alg: 'HS256', data },
      { op: 'mac', kid: 'nobody', alg: 'HS256', data },
      { op: 'encrypt', kid: aes.kid },
      { op: 'destroy', kid: aes.kid },
    ],
  })
  assert.equal(status, 200)
  assert.deepEqual(
    json.results.map((one: { status: number }) => one.status),
    [200, 200, 404, 400, 400],
  )
  const opened = await alice.post('/v1/crypto/batch', {
    operations: [{ op: 'decrypt', ...json.results[0].result }],
  })
  assert.equal(opened.json.results[0].result.data, data)
  const records = kms.audit.slice(before, before + 5)
  assert.deepEqual(
    records.map(({ operation, outcome }) => `${operation} ${outcome}`),
    [
      'crypto.encrypt success',
      'crypto.mac success',
      'crypto.mac failure',
      'crypto.encrypt failure',
      'crypto.batch.unknown failure',
    ],
  )
  const many = { operations: Array.from({ length: 1001 }, () => ({ op: 'mac' })) }
  await refused('/v1/crypto/batch', many, 400, 'bad_request')
})

test('no imported key is in clear in the database, the log or the audit records', async () => {
  const secret = randomBytes(32)
  const { kid } = await make({ kty: 'oct', alg: 'HS256', k: b64(secret) })
  const { privateKey } = (await import('node:crypto')).generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { d = '', x = '', y = '' } = privateKey.export({ format: 'jwk' })
  await make({ kty: 'EC', crv: 'P-256', d, x, y })
  const { json } = await alice.post('/v1/crypto/mac', { kid, alg: 'HS256', data })
  assert.equal(json.mac, createHmac('sha256', secret).update('attack at dawn').digest('base64url'))
  const stored = await kms.storedBytes()
  const told = JSON.stringify(kms.audit) + kms.log.join('\n')
  for (const bytes of [secret, Buffer.from(d, 'base64url')]) {
    assert.equal(stored.includes(bytes), false)
    for (const text of [b64(bytes), bytes.toString('hex'), bytes.toString('base64')]) {
      assert.equal(stored.includes(text) || told.includes(text), false)
    }
  }
  assert.ok(stored.length > 0)
})

test('every executed or refused operation has its audit record', async () => {
  const { kid } = await make({ kty: 'oct', alg: 'A256GCM' })
  await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
  await kms.user('mallory').post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
  await kms.with({}).post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
  const lines = kms.audit
    .slice(-4)
    .map((one) => `${one.operation} ${one.principal} ${one.status} ${one.object === kid}`)
  assert.deepEqual(lines, [
    'crypto.keys.create alice 200 true',
    'crypto.encrypt alice 200 true',
    'crypto.encrypt mallory 404 true',
    'crypto.encrypt unauthenticated 401 false',
  ])
})

test('a public key is shown as a JWK that libraries can use', async () => {
  const shown = async (body: object) => {
    const { kid_public } = await make(body)
    return (await alice.get(`/v1/crypto/keys/${kid_public}`)).json.public_jwk
  }
  const unbound = await shown({ kty: 'RSA' })
  assert.deepEqual(Object.keys(unbound).sort(), ['e', 'kid', 'kty', 'n'])
  const bound = await shown({ kty: 'RSA', alg: 'RSA-OAEP-256' })
  assert.deepEqual([bound.use, bound.alg], ['enc', 'RSA-OAEP-256'])
  const ec = await shown({ kty: 'EC', crv: 'P-384' })
  assert.deepEqual([ec.kty, ec.crv, ec.use, ec.alg], ['EC', 'P-384', 'sig', 'ES384'])
  const lattice = await shown({ kty: 'AKP', alg: 'ML-DSA-44' })
  assert.deepEqual([lattice.kty, lattice.alg, typeof lattice.pub], ['AKP', 'ML-DSA-44', 'string'])
  const ed = await shown({ kty: 'OKP' })
  assert.deepEqual([ed.kty, ed.crv, ed.alg], ['OKP', 'Ed25519', 'EdDSA'])
})
