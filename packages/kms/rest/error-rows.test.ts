import assert from 'node:assert/strict'
import { constants, createPublicKey, publicEncrypt, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createTokenBuckets } from '@warder/server'
import { query } from '@warder/storage'
import type { Answer } from '../testing/client.ts'
import { grant } from '../testing/client.ts'
import { startKms, startSharedKms } from '../testing/start.ts'

// Every error of the interface (docs/start/kms.md), on the live server, by its own name.

const kids: Record<string, string> = {}
const kms = await startSharedKms()
const alice = kms.user('alice')
for (const [name, body] of Object.entries({
  aes: { kty: 'oct', alg: 'A256GCM' },
  hmac: { kty: 'oct', alg: 'HS256' },
  ec: { kty: 'EC', crv: 'P-256' },
  rsa: { kty: 'RSA' },
})) {
  const made = (await alice.post('/v1/crypto/keys', body)).json
  kids[name] = made.kid
  if (made.kid_public) kids[`${name} public`] = made.kid_public
}

const b64 = (bytes: Uint8Array | string): string => Buffer.from(bytes as never).toString('base64url')
const header = (members: object): string => b64(JSON.stringify(members))
const data = b64('attack at dawn')
const iv = b64(Buffer.alloc(12))
const tag = b64(Buffer.alloc(16))
const absent = '0190a0b0-0000-7000-8000-000000000000'
const post = (verb: string, body: unknown) => alice.post(`/v1/crypto/${verb}`, body)

/** Status, kind, and exactly the two members `error` and `description`. */
function is(answer: Answer | undefined, status: number, error: string, what = ''): void {
  assert.deepEqual([answer?.status, answer?.json?.error], [status, error], `${what} ${answer?.text}`)
  assert.equal(typeof answer?.json.description, 'string')
  const members = status >= 500 ? ['description', 'error', 'request_id'] : ['description', 'error']
  assert.deepEqual(Object.keys(answer?.json).sort(), members)
  assert.match(String(answer?.headers['content-type']), /^application\/json/)
}

/** A right body of each verb. */
const right = (): Readonly<Record<string, Readonly<Record<string, unknown>>>> => ({
  encrypt: { kid: kids.aes, alg: 'dir', enc: 'A256GCM', data, aad: data },
  decrypt: {
    protected: header({ alg: 'dir', enc: 'A256GCM', kid: kids.aes }),
    iv,
    ciphertext: data,
    tag,
    aad: data,
    encrypted_key: '',
  },
  sign: { kid: kids.ec, alg: 'ES256', data },
  verify: { protected: header({ alg: 'ES256', kid: kids['ec public'] }), data, signature: data },
  mac: { kid: kids.hmac, alg: 'HS256', data, mac: data },
  'keys/unwrap': {
    protected: header({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: kids.rsa }),
    encrypted_key: b64(randomBytes(256)),
  },
})
const binary = ['protected', 'data', 'aad', 'iv', 'ciphertext', 'tag', 'encrypted_key', 'signature', 'mac']
const optional = ['aad', 'mac', 'encrypted_key']

test('400: malformed base64, in every member of every verb', async () => {
  for (const [verb, body] of Object.entries(right())) {
    for (const member of binary.filter((name) => name in body)) {
      for (const wrong of ['a', 'YQ==', 'YR', 'a b', 'a+/b', 'YQ\n', 'ÿ', '\u{1d7d8}aa']) {
        is(await post(verb, { ...body, [member]: wrong }), 400, 'bad_request', `${verb} ${member} ${wrong}`)
      }
    }
  }
})

test('400: a missing field, and one of another type, in every verb', async () => {
  for (const [verb, body] of Object.entries(right())) {
    for (const member of Object.keys(body)) {
      // null of an optional member is accepted as absent.
      if (verb === 'keys/unwrap' || !optional.includes(member)) {
        for (const absent of [undefined, null])
          is(await post(verb, { ...body, [member]: absent }), 400, 'bad_request', `${verb} without ${member}`)
      }
      for (const wrong of [1, true, [], {}, [body[member]]])
        is(await post(verb, { ...body, [member]: wrong }), 400, 'bad_request', `${verb} ${member} ${wrong}`)
    }
    for (const whole of [null, [], 'x', 1]) is(await post(verb, whole), 400, 'bad_request', verb)
    is(await alice.call('POST', `/v1/crypto/${verb}`, { text: '{"kid":"a","kid":"b"}' }), 400, 'bad_request')
    is(await alice.call('POST', `/v1/crypto/${verb}`, { text: '{' }), 400, 'bad_request')
  }
})

test('400: verify without kid', async () => {
  is(await post('verify', { protected: header({ alg: 'ES256' }), data, signature: data }), 400, 'bad_request')
})

test('401: no identity', async () => {
  for (const [verb, body] of Object.entries(right())) {
    const answer = await kms.with({}).post(`/v1/crypto/${verb}`, body)
    is(answer, 401, 'unauthorized', verb)
    assert.equal(answer.headers['www-authenticate'], 'Bearer')
  }
})

test('403 for a key on which the caller has another right, 404 for a key without any', async () => {
  const mallory = kms.user('mallory')
  for (const [verb, body] of Object.entries(right()))
    is(await mallory.post(`/v1/crypto/${verb}`, body), 404, 'not_found', verb)
  for (const kid of Object.values(kids)) {
    await grant(alice, kid, 'mallory', 'locate')
  }
  for (const [verb, body] of Object.entries(right()))
    is(await mallory.post(`/v1/crypto/${verb}`, body), 403, 'forbidden', verb)
  is(await mallory.del(`/v1/crypto/keys/${kids.aes}`), 403, 'forbidden')
})

test('404: key not found, for every verb', async () => {
  const named = JSON.stringify(right()).replaceAll(/"kid":"[^"]*"/g, `"kid":"${absent}"`)
  for (const [verb, body] of Object.entries(JSON.parse(named) as ReturnType<typeof right>)) {
    const { protected: head } = body
    const renamed =
      typeof head === 'string'
        ? {
            ...body,
            protected: header({ ...JSON.parse(String(Buffer.from(head, 'base64url'))), kid: absent }),
          }
        : body
    const answer = await post(verb, renamed)
    is(answer, 404, 'not_found', verb)
    assert.equal(answer.json.description, 'Key not found.')
  }
  is(await alice.del(`/v1/crypto/keys/${absent}`), 404, 'not_found')
})

const notImplemented = {
  alg: [
    'RSA1_5',
    'RSA-PKCS1-v1_5',
    'A128KW',
    'ECDH-ES',
    'ECDH-ES+A512KW',
    'ECDH-1PU',
    'ML-KEM-768',
    'ML-KEM-768+A192KW',
    'A128KWP',
    'PBES2-HS256+A128KW',
  ],
  enc: ['A128CBC-HS256', 'A192CBC-HS384', 'A256CBC-HS512', 'A512GCM', 'none'],
  signature: ['none', 'HS256', 'ES256K', 'ES128', 'Ed448', 'RS1', 'RS257', 'ML-DSA-66'],
  mac: ['HS1', 'HS224', 'HS256/64', 'ES256', 'none'],
}

for (const alg of notImplemented.alg) {
  test(`422: ${alg} is not implemented, for encryption, decryption, unwrapping and keys`, async () => {
    const named = header({ alg, enc: 'A256GCM', kid: kids.rsa })
    const { decrypt, 'keys/unwrap': unwrap } = right()
    is(await post('encrypt', { kid: kids.rsa, alg, enc: 'A256GCM', data }), 422, 'unsupported_algorithm')
    is(await post('decrypt', { ...decrypt, protected: named }), 422, 'unsupported_algorithm')
    is(await post('keys/unwrap', { ...unwrap, protected: named }), 422, 'unsupported_algorithm')
    is(await post('keys', { kty: 'RSA', alg }), 422, 'unsupported_algorithm')
  })
}

for (const enc of notImplemented.enc) {
  test(`422: the content encryption ${enc} is not implemented`, async () => {
    const { decrypt, 'keys/unwrap': unwrap } = right()
    is(await post('encrypt', { kid: kids.aes, alg: 'dir', enc, data }), 422, 'unsupported_algorithm')
    const direct = header({ alg: 'dir', enc, kid: kids.aes })
    is(await post('decrypt', { ...decrypt, protected: direct }), 422, 'unsupported_algorithm')
    const wrapped = header({ alg: 'RSA-OAEP', enc, kid: kids.rsa })
    is(await post('keys/unwrap', { ...unwrap, protected: wrapped }), 422, 'unsupported_algorithm')
    is(await post('keys', { kty: 'oct', alg: enc }), 422, 'unsupported_algorithm')
  })
}

test('422: signature and MAC algorithms that are not in the table', async () => {
  for (const alg of notImplemented.signature) {
    is(await post('sign', { kid: kids.ec, alg, data }), 422, 'unsupported_algorithm', alg)
    const protectedHeader = header({ alg, kid: kids['ec public'] })
    is(
      await post('verify', { protected: protectedHeader, data, signature: '' }),
      422,
      'unsupported_algorithm',
      alg,
    )
  }
  for (const alg of notImplemented.mac)
    is(await post('mac', { kid: kids.hmac, alg, data }), 422, 'unsupported_algorithm', alg)
})

test('413: a body beyond 64 MB (§8) is refused by its Content-Length, before it is read', async () => {
  const announced = (bytes: number) => ({ text: '{}', headers: { 'content-length': String(bytes) } })
  const answer = await alice.call('POST', '/v1/crypto/encrypt', announced(64 * 2 ** 20 + 1))
  is(answer, 413, 'payload_too_large')
  is(await post('encrypt', {}), 400, 'bad_request')
})

test('429: the rate limit, with both headers', async () => {
  const clock = { now: () => 1_000_000, monotonic: () => 1_000_000 }
  const rateLimiter = createTokenBuckets({ ratePerSecond: 1, burst: 3, slots: 16, clock })
  await using slow = await startKms({ server: { rateLimiter } })
  const body = { kid: absent, alg: 'HS256', data }
  for (let count = 0; count < 3; count++)
    assert.equal((await slow.user('a').post('/v1/crypto/mac', body)).status, 404)
  const answer = await slow.user('a').post('/v1/crypto/mac', body)
  is(answer, 429, 'rate_limited')
  assert.deepEqual([answer.headers['retry-after'], answer.headers['x-ratelimit-after']], ['1', '1'])
})

test('500: an internal error has a fixed text, and the log has the cause under the request id', async () => {
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const spoil = query<[Uint8Array, string], unknown>(
    'UPDATE managed_object SET material = ?, version = version + 1 WHERE id = ?',
  )
  const { db } = kms.environment
  await db.commit([{ query: spoil as never, params: [Buffer.from('canary'), kid], expect: 1 }])
  const answer = await post('encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
  is(answer, 500, 'internal_error')
  assert.equal(answer.json.description, 'An internal error occurred.')
  assert.equal(answer.json.request_id, answer.headers['x-request-id'])
  assert.ok(kms.log.some((line) => /a request failed/.test(line) && /sealed/.test(line)))
  // A key that cannot be opened can still be shown and deleted.
  assert.equal((await alice.get(`/v1/crypto/keys/${kid}`)).json.state, 'Active')
  assert.equal((await alice.del(`/v1/crypto/keys/${kid}`)).status, 204)
})

test('503: the record cannot be written in audit mode reject', async () => {
  await using strict = await startKms({ auditMode: 'reject' })
  strict.breakAudit()
  is(
    await strict.user('a').post('/v1/crypto/mac', { kid: absent, alg: 'HS256', data }),
    503,
    'audit_unavailable',
  )
})

test('unwrap: each row of its table', async () => {
  const { public_jwk } = (await alice.get(`/v1/crypto/keys/${kids['rsa public']}`)).json
  const key = createPublicKey({ key: public_jwk, format: 'jwk' })
  const wrap = (bytes: Uint8Array): string =>
    b64(publicEncrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }, bytes))
  const good = right()['keys/unwrap'] ?? {}
  const named = (members: object) => ({
    ...good,
    protected: header({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: kids.rsa, ...members }),
  })
  const rows: [what: string, body: object, status: number, error: string][] = [
    ['invalid base64url in protected', { ...good, protected: 'a b' }, 400, 'bad_request'],
    ['protected is not JSON', { ...good, protected: b64('{') }, 400, 'bad_request'],
    ['protected is no object', { ...good, protected: b64('[1]') }, 400, 'bad_request'],
    ['invalid base64url in encrypted_key', { ...good, encrypted_key: 'a=' }, 400, 'bad_request'],
    ['kid missing', named({ kid: undefined }), 400, 'bad_request'],
    ['alg missing', named({ alg: undefined }), 400, 'bad_request'],
    ['enc missing', named({ enc: undefined }), 400, 'bad_request'],
    ['encrypted_key empty', { ...good, encrypted_key: '' }, 400, 'bad_request'],
    ['alg dir', named({ alg: 'dir' }), 422, 'unsupported_algorithm'],
    ['alg A128KW', named({ alg: 'A128KW' }), 422, 'unsupported_algorithm'],
    ['private key not found', named({ kid: absent }), 404, 'not_found'],
    ['decryption failure', good, 422, 'decryption_failed'],
    ['another size than enc', { ...good, encrypted_key: wrap(Buffer.alloc(16)) }, 422, 'crypto_failure'],
    ['the key is symmetric', named({ kid: kids.aes }), 422, 'crypto_failure'],
    ['the key is of a curve', named({ kid: kids.ec }), 422, 'crypto_failure'],
  ]
  for (const [what, body, status, error] of rows) is(await post('keys/unwrap', body), status, error, what)
  const before = (await alice.get('/access/owned')).json.length
  for (const kid of [kids.rsa, kids['rsa public']]) {
    const made = await post('keys/unwrap', { ...named({ kid }), encrypted_key: wrap(Buffer.alloc(32, 7)) })
    assert.deepEqual(
      { ...made.json, kid: '' },
      { kid: '', kty: 'oct', alg: 'A256GCM', key_ops: ['encrypt', 'decrypt'] },
    )
    assert.equal((await alice.get(`/v1/crypto/keys/${made.json.kid}`)).json.state, 'Active')
  }
  // Only successful requests created a key.
  assert.equal((await alice.get('/access/owned')).json.length, before + 2)
})
