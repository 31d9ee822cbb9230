import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { query } from '@warder/storage'
import { startSharedKms } from '../testing/start.ts'

const kms = await startSharedKms()
const alice = kms.user('alice')

const data = Buffer.from('attack at dawn').toString('base64url')
const exportJwk = ({ privateKey }: { readonly privateKey: KeyObject }) =>
  privateKey.export({ format: 'jwk' }) as Record<string, string>
const rsa = exportJwk(generateKeyPairSync('rsa', { modulusLength: 2048 }))
const ec = exportJwk(generateKeyPairSync('ec', { namedCurve: 'P-256' }))
const ed = exportJwk(generateKeyPairSync('ed25519'))
const lattice = generateKeyPairSync('ml-dsa-44').publicKey.export({ format: 'jwk' }) as Record<string, string>

const allIds = query<[], { readonly id: string }>('SELECT id FROM managed_object ORDER BY id')
const stored = async (): Promise<readonly string[]> =>
  (await kms.environment.db.all(allIds, [])).map(({ id }) => id)

/** Each is refused with one kind, a sentence that quotes no material, and no object. */
async function refused(bodies: readonly object[]): Promise<void> {
  const before = await stored()
  for (const body of bodies) {
    const answer = await alice.post('/v1/crypto/keys', body)
    const shown = JSON.stringify(body).slice(0, 300)
    assert.deepEqual([answer.status, answer.json?.error], [400, 'bad_request'], `${shown} ${answer.text}`)
    for (const value of Object.values(body)) {
      if (typeof value === 'string' && value.length > 20) assert.ok(!answer.text.includes(value), shown)
    }
  }
  assert.deepEqual(await stored(), before)
}

test('an import of only public members is refused, and creates no new key', () =>
  refused([
    { kty: 'RSA', n: rsa.n, e: rsa.e },
    { kty: 'RSA', alg: 'RS256', n: rsa.n, e: rsa.e, bits: 2048 },
    { kty: 'RSA', e: 'AQAB' },
    { kty: 'RSA', p: rsa.p, q: rsa.q },
    { kty: 'EC', crv: 'P-256', x: ec.x, y: ec.y },
    { kty: 'EC', crv: 'P-256', alg: 'ES256', x: ec.x },
    { kty: 'OKP', crv: 'Ed25519', x: ed.x },
    { kty: 'AKP', alg: 'ML-DSA-44', pub: lattice.pub },
    { kty: 'OKP', alg: 'MLDSA44', x: lattice.pub },
    { kty: 'oct', alg: 'A256GCM', n: rsa.n },
    { kty: 'oct', alg: 'A256GCM', k: '' },
  ]))

test('an import with contradicting bits is refused, and with matching bits accepted', async () => {
  const k = randomBytes(32).toString('base64url')
  await refused([
    { ...rsa, bits: 3072 },
    { ...rsa, bits: 1024 },
    { ...ec, bits: 384 },
    { kty: 'EC', crv: 'P-521', bits: 512 },
    { kty: 'oct', alg: 'A256GCM', bits: 128 },
    { kty: 'oct', alg: 'A256GCM', bits: 128, k },
    { kty: 'oct', alg: 'HS256', bits: 512, k },
  ])
  for (const body of [
    { ...rsa, bits: 2048 },
    { ...ec, bits: 256 },
    { kty: 'EC', crv: 'P-521', bits: 521 },
    { kty: 'oct', alg: 'A256GCM', bits: 256, k },
  ]) {
    const answer = await alice.post('/v1/crypto/keys', body)
    assert.equal(answer.status, 200, answer.text)
  }
})

test('an imported pair is one private key, which also does the operations of the public key', async () => {
  const made = await alice.post('/v1/crypto/keys', { ...rsa, alg: 'RSA-OAEP-256' })
  assert.equal(made.status, 200, made.text)
  const { kid } = made.json
  assert.equal(made.json.kid_public, null)
  const sealed = await alice.post('/v1/crypto/encrypt', { kid, alg: 'RSA-OAEP-256', enc: 'A256GCM', data })
  assert.equal((await alice.post('/v1/crypto/decrypt', sealed.json)).json.data, data)
  const shown = (await alice.get(`/v1/crypto/keys/${kid}`)).json
  assert.deepEqual([shown.object_type, shown.public_jwk.n, shown.bits], ['PrivateKey', rsa.n, 2048])
})

test('invalid and weak key numbers are refused over HTTPS (K10)', async () => {
  const flip = (text = ''): string => {
    const bytes = Buffer.from(text, 'base64url')
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 2
    return bytes.toString('base64url')
  }
  const padded = (text = ''): string =>
    Buffer.concat([Buffer.alloc(1), Buffer.from(text, 'base64url')]).toString('base64url')
  const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex')
  const small = exportJwk(generateKeyPairSync('rsa', { modulusLength: 1024 }))
  const other = exportJwk(generateKeyPairSync('ec', { namedCurve: 'P-256' }))
  const three = exportJwk(generateKeyPairSync('ec', { namedCurve: 'P-384' }))
  await refused([
    small,
    { ...small, bits: 1024 },
    ...['n', 'd', 'p', 'q', 'dp', 'dq', 'qi'].map((name) => ({ ...rsa, [name]: flip(rsa[name]) })),
    ...['d', 'n', 'e', 'p', 'q', 'dp', 'dq', 'qi'].map((name) => ({ ...rsa, [name]: undefined })),
    { ...rsa, e: 'AQ' },
    { ...rsa, e: 'Ag' },
    { ...rsa, e: '' },
    { ...rsa, p: rsa.q, dp: rsa.dq },
    { ...rsa, oth: undefined, k: rsa.d },
    { ...ec, d: Buffer.alloc(32).toString('base64url') },
    { ...ec, d: order.toString('base64url') },
    { ...ec, d: padded(ec.d) },
    { ...ec, d: ec.d?.slice(0, 20) },
    { ...ec, x: other.x },
    { ...ec, x: other.x, y: other.y },
    { ...ec, y: ec.x },
    { ...three, crv: 'P-256' },
    { ...ec, crv: 'secp256k1' },
    { ...ec, crv: 'P-256K' },
    { ...ed, d: `${ed.d}AA` },
    { ...ed, x: ec.x },
    { kty: 'oct', alg: 'A128GCM', k: randomBytes(17).toString('base64url') },
    { kty: 'oct', alg: 'HS512', k: randomBytes(63).toString('base64url') },
    { kty: 'oct', alg: 'HS256', k: randomBytes(4097).toString('base64url') },
  ])
})

test('key material in non-canonical base64url is refused', () => {
  const k = Buffer.alloc(16, 0xfb)
  return refused(
    [
      k.toString('base64'),
      `${k.toString('base64url').slice(0, -1)}x`,
      `${k.toString('base64url')}=`,
      ` ${k.toString('base64url')}`,
      `${k.toString('base64url')}\n`,
      k.toString('hex'),
      '\u{1d7d8}'.repeat(11),
    ].map((text) => ({ kty: 'oct', alg: 'A128GCM', k: text })),
  )
})

test('an import cannot choose an id, and so never replaces a key', async () => {
  const bob = kms.user('bob')
  const secret = randomBytes(32)
  const mine = await alice.post('/v1/crypto/keys', {
    kty: 'oct',
    alg: 'A256GCM',
    k: secret.toString('base64url'),
  })
  const { kid } = mine.json
  const sealed = (await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })).json
  const theirs = {
    kty: 'oct',
    alg: 'A256GCM',
    k: randomBytes(32).toString('base64url'),
    kid,
  }
  const foreign = {
    id: kid,
    unique_identifier: kid,
    UniqueIdentifier: kid,
    ReplaceExisting: true,
    replace_existing: true,
    owner: 'alice',
    state: 'PreActive',
  }
  for (const [name, value] of Object.entries(foreign)) {
    const refused = await bob.post('/v1/crypto/keys', { ...theirs, [name]: value })
    assert.equal(refused.status, 400, name)
    assert.ok(refused.json.description.startsWith(`Invalid request body: ${name}: is not a known member`))
  }
  for (const who of [bob, alice]) {
    const made = await who.post('/v1/crypto/keys', theirs)
    assert.equal(made.status, 200, made.text)
    assert.notEqual(made.json.kid, kid)
    const shown = (await who.get(`/v1/crypto/keys/${made.json.kid}`)).json
    assert.deepEqual([shown.owner, shown.state], [who === bob ? 'bob' : 'alice', 'Active'])
  }
  assert.equal((await alice.post('/v1/crypto/decrypt', sealed)).json.data, data)
  assert.equal((await bob.get(`/v1/crypto/keys/${kid}`)).status, 404)
})
