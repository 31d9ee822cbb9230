import assert from 'node:assert/strict'
import { constants, createHmac, createPublicKey, publicEncrypt, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { Answer } from '../testing/client.ts'
import { grant } from '../testing/client.ts'
import { startSharedKms } from '../testing/start.ts'

// Attacks that peers of this service fell to, each tried on the live server. K-numbers name the class of attack.

const kms = await startSharedKms()
const alice = kms.user('alice')

const b64 = (bytes: Uint8Array | string): string => Buffer.from(bytes as never).toString('base64url')
const header = (members: object): string => b64(JSON.stringify(members))
const data = b64('attack at dawn')
const make = async (body: object): Promise<Record<string, string>> => {
  const made = await alice.post('/v1/crypto/keys', body)
  assert.equal(made.status, 200, made.text)
  return made.json
}
const outcome = ({ status, json }: Answer) => [status, json?.error]

const strangeIds = [
  "' OR 1=1 --",
  "'; DROP TABLE managed_object; --",
  '../../../etc/passwd',
  '..%2f..%2fkms.db',
  'C:\\windows\\system32',
  'x'.repeat(257),
  'x'.repeat(4096),
  'a\u0000b',
  '\u0000',
  'a\nb',
  '\u001b[31mred',
  '\u202egnp',
  '\ud800',
  '*',
  '%',
  '_',
  '["a"]',
  '{"$ne":null}',
  'constructor',
  '__proto__',
  ' ',
]

test('hostile ids get 404 or 400 on every path with an id, and are not repeated (K16)', async () => {
  await make({ kty: 'oct', alg: 'A256GCM' })
  const before = (await alice.get('/access/owned')).json.length
  for (const kid of strangeIds) {
    const bodies: [string, object][] = [
      ['/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data }],
      ['/v1/crypto/sign', { kid, alg: 'ES256', data }],
      ['/v1/crypto/mac', { kid, alg: 'HS256', data }],
      ['/access/grant', { unique_identifier: kid, user_id: 'bob', operation_types: ['encrypt'] }],
      ['/access/revoke', { unique_identifier: kid, user_id: 'bob', operation_types: ['encrypt'] }],
    ]
    if (kid.isWellFormed()) {
      const jwe = { iv: b64(randomBytes(12)), tag: b64(randomBytes(16)), ciphertext: data }
      bodies.push(
        ['/v1/crypto/decrypt', { ...jwe, protected: header({ alg: 'dir', enc: 'A256GCM', kid }) }],
        [
          '/v1/crypto/keys/unwrap',
          { encrypted_key: data, protected: header({ alg: 'RSA-OAEP', enc: 'A256GCM', kid }) },
        ],
        ['/v1/crypto/verify', { data, signature: data, protected: header({ alg: 'ES256', kid }) }],
      )
    }
    for (const [path, body] of bodies) {
      const answer = await alice.post(path, body)
      // A lone surrogate is not UTF-8 on the wire, and a header that is too long is malformed.
      assert.ok(answer.status === 404 || answer.status === 400, `${path} ${kid.slice(0, 30)} ${answer.text}`)
      assert.ok(!answer.text.includes(kid.slice(0, 200)) || kid.length < 3, `${path} repeats ${kid}`)
    }
    if (!kid.isWellFormed()) continue
    for (const [method, path] of [
      ['GET', `/v1/crypto/keys/${encodeURIComponent(kid)}`],
      ['GET', `/v1/crypto/keys/${encodeURIComponent(kid)}/tags`],
      ['DELETE', `/v1/crypto/keys/${encodeURIComponent(kid)}`],
      ['GET', `/access/list/${encodeURIComponent(kid)}`],
    ] as const) {
      const { status } = await alice.call(method, path)
      assert.ok(status === 404 || status === 400, `${method} ${kid.slice(0, 30)} answered ${status}`)
    }
  }
  assert.equal((await alice.get('/access/owned')).json.length, before)
})

test('a tag is not a way to name a key, and a user name is not a pattern', async () => {
  const { kid = '' } = await make({ kty: 'oct', alg: 'A256GCM', tags: ['payroll'] })
  for (const name of ['payroll', '["payroll"]', `${kid}%`, kid.toUpperCase(), ` ${kid}`, `${kid}\n`]) {
    const answer = await alice.post('/v1/crypto/encrypt', { kid: name, alg: 'dir', enc: 'A256GCM', data })
    assert.equal(answer.status, 404, name)
  }
  await grant(alice, kid, 'b_b%', 'encrypt')
  for (const user of ['bob', 'B_B%', 'b_b']) {
    const answer = await kms.user(user).post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
    assert.equal(answer.status, 404, user)
  }
})

test('a public key is no HMAC secret, for any algorithm, in any direction (K08, RFC 8725 §2.1)', async () => {
  const rsa = await make({ kty: 'RSA', alg: 'RS256' })
  const ec = await make({ kty: 'EC', crv: 'P-256', alg: 'ES256' })
  for (const pair of [rsa, ec]) {
    const { public_jwk } = (await alice.get(`/v1/crypto/keys/${pair.kid_public}`)).json
    const key = createPublicKey({ key: public_jwk, format: 'jwk' })
    const secrets = [
      String(key.export({ format: 'pem', type: 'spki' })),
      key.export({ format: 'der', type: 'spki' }),
      JSON.stringify(public_jwk),
    ]
    for (const kid of [pair.kid, pair.kid_public]) {
      for (const alg of ['HS256', 'HS384', 'HS512']) {
        const forged = header({ alg, kid })
        for (const secret of secrets) {
          const signature = createHmac('sha256', secret).update(`${forged}.${data}`).digest('base64url')
          const verified = await alice.post('/v1/crypto/verify', { protected: forged, data, signature })
          assert.deepEqual(outcome(verified), [422, 'unsupported_algorithm'])
          const mac = createHmac('sha256', secret).update('attack at dawn').digest('base64url')
          const macked = await alice.post('/v1/crypto/mac', { kid, alg, data, mac })
          assert.deepEqual(outcome(macked), [422, 'crypto_failure'])
        }
      }
      for (const alg of ['none', 'None', 'NONE', '', 'HS256\u0000', 'ES256 ', 'es256']) {
        const answer = await alice.post('/v1/crypto/verify', {
          protected: header({ alg, kid }),
          data,
          signature: '',
        })
        const isNoName = alg === '' || alg.includes('\u0000')
        assert.ok(answer.status === 422 || (isNoName && answer.status === 400), `${alg} ${answer.text}`)
      }
    }
  }
})

test('a header cannot bring its own key, its own rules, or say things twice (K08)', async () => {
  const pair = await make({ kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const signed = (await alice.post('/v1/crypto/sign', { kid: pair.kid, alg: 'ES256', data })).json
  const named = { alg: 'ES256', kid: pair.kid_public }
  const refused: string[] = [
    header({ ...named, crit: [] }),
    header({ ...named, crit: ['b64'], b64: false }),
    header({ ...named, b64: true }),
    header({ ...named, zip: 'DEF' }),
    header({ ...named, kid: [pair.kid_public] }),
    header({ ...named, kid: { toString: pair.kid_public } }),
    header({ ...named, alg: ['ES256'] }),
    b64(`{"alg":"ES256","kid":"${pair.kid_public}","kid":"${pair.kid_public}"}`),
    b64(`{"alg":"ES256","kid":"${pair.kid_public}","__proto__":{}}`),
    b64(`{"alg":"ES256","kid":"${pair.kid_public}"} `.padEnd(20_000)),
    b64('null'),
    b64('"ES256"'),
    b64(Buffer.from([0x7b, 0xff, 0x7d])),
    '',
  ]
  for (const bad of refused) {
    const answer = await alice.post('/v1/crypto/verify', { ...signed, data, protected: bad })
    assert.deepEqual(outcome(answer), [400, 'bad_request'], Buffer.from(bad, 'base64url').toString())
  }
  // Members that fetch or embed a key are not looked at: the key is the one that the service keeps.
  const { publicKey, privateKey } = (await import('node:crypto')).generateKeyPairSync('ec', {
    namedCurve: 'P-256',
  })
  const own = header({
    ...named,
    jwk: publicKey.export({ format: 'jwk' }),
    jku: 'https://127.0.0.1:1/',
    x5u: 'x',
  })
  const signature = (await import('node:crypto'))
    .sign('sha256', Buffer.from(`${own}.${data}`), { key: privateKey, dsaEncoding: 'ieee-p1363' })
    .toString('base64url')
  const embedded = await alice.post('/v1/crypto/verify', { protected: own, data, signature })
  assert.deepEqual(embedded.json, { kid: pair.kid_public, valid: false })
  // An unprotected header would change nothing: it is refused rather than dropped.
  for (const extra of [{ header: { alg: 'none', kid: 'other' } }, { unprotected: { alg: 'none' } }])
    assert.equal((await alice.post('/v1/crypto/verify', { ...signed, data, ...extra })).status, 400)
})

test('a JWE with a swapped or truncated part, or for another key, is refused (K07)', async () => {
  const one = await make({ kty: 'oct', alg: 'A256GCM' })
  const other = await make({ kty: 'oct', alg: 'A256GCM' })
  const seal = async (kid: string | undefined, aad?: string) =>
    (await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data, aad })).json
  const sealed = await seal(one.kid, b64('a'))
  const second = await seal(one.kid, b64('b'))
  const foreign = await seal(other.kid, b64('a'))
  const open = async (body: object) => outcome(await alice.post('/v1/crypto/decrypt', body))
  for (const member of ['iv', 'ciphertext', 'tag', 'aad', 'protected']) {
    assert.deepEqual(
      await open({ ...sealed, [member]: foreign[member] === sealed[member] ? b64('z') : foreign[member] }),
      [422, 'decryption_failed'],
      member,
    )
  }
  assert.deepEqual(await open({ ...sealed, aad: second.aad }), [422, 'decryption_failed'])
  assert.deepEqual(await open({ ...sealed, aad: undefined }), [422, 'decryption_failed'])
  assert.deepEqual(await open({ ...sealed, aad: '' }), [422, 'decryption_failed'])
  const reordered = header({ kid: one.kid, enc: 'A256GCM', alg: 'dir' })
  assert.deepEqual(await open({ ...sealed, protected: reordered }), [422, 'decryption_failed'])
  const tag = Buffer.from(sealed.tag, 'base64url')
  for (let bytes = 0; bytes < 16; bytes++) {
    assert.deepEqual(await open({ ...sealed, tag: b64(tag.subarray(0, bytes)) }), [400, 'bad_request'])
  }
  assert.deepEqual(await open({ ...sealed, tag: b64(Buffer.concat([tag, tag])) }), [400, 'bad_request'])
  for (const bytes of [0, 1, 8, 11, 13, 16]) {
    assert.deepEqual(await open({ ...sealed, iv: b64(randomBytes(bytes)) }), [400, 'bad_request'])
  }
})

test('an IV is never repeated under one key (K07)', async () => {
  const { kid } = await make({ kty: 'oct', alg: 'A128GCM' })
  const operations = Array.from({ length: 1000 }, () => ({
    op: 'encrypt',
    kid,
    alg: 'dir',
    enc: 'A128GCM',
    data,
  }))
  const seen = new Set<string>()
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => alice.post('/v1/crypto/batch', { operations })),
  )
  for (const { json } of answers) for (const { result } of json.results) seen.add(result.iv)
  assert.equal(seen.size, 5000)
})

test('decryption answers every invalid wrapped key like a wrong tag; unwrap reports the failure, and is recorded (K06)', async () => {
  const pair = await make({ kty: 'RSA' })
  const { public_jwk } = (await alice.get(`/v1/crypto/keys/${pair.kid_public}`)).json
  const key = createPublicKey({ key: public_jwk, format: 'jwk' })
  const modulus = BigInt(`0x${Buffer.from(public_jwk.n, 'base64url').toString('hex')}`)
  const number = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(512, '0'), 'hex')
  const raw = (block: Buffer): Buffer => publicEncrypt({ key, padding: constants.RSA_NO_PADDING }, block)
  const oaep = (bytes: Buffer, hash: string, label?: Buffer): Buffer =>
    publicEncrypt(
      { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: hash, ...(label && { oaepLabel: label }) },
      bytes,
    )
  const block = Buffer.concat([Buffer.from([0]), randomBytes(255)])
  const wrongs: Buffer[] = [
    Buffer.alloc(256),
    number(1n),
    number(modulus - 1n),
    number(modulus),
    number(modulus + 1n),
    Buffer.alloc(256, 255),
    randomBytes(255),
    randomBytes(257),
    Buffer.from([0]),
    raw(block), // 00 first, wrong label hash (Manger: y = 0)
    raw(Buffer.concat([Buffer.from([1]), block.subarray(1)])), // y is not 0
    publicEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, randomBytes(32)),
    oaep(randomBytes(32), 'sha1'),
    oaep(randomBytes(32), 'sha256', Buffer.from('label')),
    oaep(randomBytes(31), 'sha256'),
    oaep(randomBytes(16), 'sha256'),
    oaep(Buffer.alloc(0), 'sha256'),
  ]
  const alg = 'RSA-OAEP-256'
  const sealed = (await alice.post('/v1/crypto/encrypt', { kid: pair.kid, alg, enc: 'A256GCM', data })).json
  const told = ({ status, text, headers }: Answer) => {
    const { 'x-request-id': _id, date: _date, ...same } = headers
    return { status, text, headers: same }
  }
  const wrongTag = told(await alice.post('/v1/crypto/decrypt', { ...sealed, tag: b64(randomBytes(16)) }))
  assert.equal(JSON.parse(wrongTag.text).error, 'decryption_failed')
  for (const [index, wrong] of wrongs.entries()) {
    const answer = await alice.post('/v1/crypto/decrypt', { ...sealed, encrypted_key: b64(wrong) })
    assert.deepEqual(told(answer), wrongTag, `wrong key ${index}`)
    const before = kms.audit.length
    const unwrapped = await alice.post('/v1/crypto/keys/unwrap', {
      protected: sealed.protected,
      encrypted_key: b64(wrong),
    })
    assert.equal(unwrapped.status, 422)
    const record = kms.audit.at(-1)
    assert.equal(kms.audit.length, before + 1)
    assert.deepEqual(
      [record?.operation, record?.outcome, record?.object, record?.reason],
      ['crypto.keys.unwrap', 'failure', pair.kid, unwrapped.json.error],
    )
  }
})

test('items of a batch require the same rights as single calls (K01)', async () => {
  const open = await make({ kty: 'oct', alg: 'A256GCM' })
  const secret = await make({ kty: 'oct', alg: 'A256GCM' })
  const sealed = (
    await alice.post('/v1/crypto/encrypt', { kid: secret.kid, alg: 'dir', enc: 'A256GCM', data })
  ).json
  await grant(alice, open.kid, 'mallory', 'encrypt')
  const { json } = await kms.user('mallory').post('/v1/crypto/batch', {
    operations: [
      { op: 'encrypt', kid: open.kid, alg: 'dir', enc: 'A256GCM', data },
      { op: 'decrypt', ...sealed },
      { op: 'encrypt', kid: secret.kid, alg: 'dir', enc: 'A256GCM', data },
      { op: 'constructor', kid: open.kid },
      { op: '__proto__', kid: open.kid },
      { op: 'batch', operations: [] },
    ],
  })
  assert.deepEqual(
    json.results.map(({ status }: { status: number }) => status),
    [200, 404, 404, 400, 400, 400],
  )
})
