import assert from 'node:assert/strict'
import { createHmac, sign } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { createLocalJWKSet, jwtVerify, SignJWT, UnsecuredJWT } from 'jose'
import {
  createSignature,
  getKeyAlgorithms,
  jwsAlgorithms,
  jwsAlgorithmsOnce,
  serviceAccountAlgorithms,
  verifySignature,
} from './algorithms.ts'
import {
  createHeldClock,
  createJwkSet,
  ec,
  ed25519,
  type KeyPair,
  rsa,
  testTime,
  tokenOfText,
} from './fixtures/tokens.ts'
import { createInlineKeySet, publicJwk } from './key-sets.ts'
import { JwtRejected, signToken, verifyToken } from './token.ts'

const clock = createHeldClock()
const expected = { issuer: 'https://idp.example', audience: undefined, requiredClaims: [], leewaySeconds: 0 }
const claims = { iss: 'https://idp.example', sub: 'alice', exp: testTime + 60 }
const text = JSON.stringify(claims)

const rsaPair = rsa()
const ecPair = ec()
const pairs: readonly (readonly [KeyPair, readonly string[]])[] = [
  [rsaPair, ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']],
  [ecPair, ['ES256']],
  [ec('P-384'), ['ES384']],
  [ec('P-521'), ['ES512']],
  [ed25519(), ['EdDSA', 'Ed25519']],
]
const everyAlgorithm = pairs.flatMap(([, algorithms]) => algorithms)

const verifier = ({ publicKey }: KeyPair) => ({ key: publicKey, algorithms: getKeyAlgorithms(publicKey) })
const verify = (token: string, ...trusted: readonly KeyPair[]) =>
  verifyToken(token, createInlineKeySet(createJwkSet(...trusted)), expected, clock)
const assertRefused = (token: string, reason: RegExp, ...trusted: readonly KeyPair[]) =>
  assert.rejects(verify(token, ...trusted), (error: unknown) => {
    assert.ok(error instanceof JwtRejected, String(error))
    assert.match(error.message, reason)
    return true
  })

for (const [pair, algorithms] of pairs) {
  for (const alg of algorithms) {
    test(`${alg}: a token of the jose library verifies here, and one of ours there`, async () => {
      const theirs = await new SignJWT(claims).setProtectedHeader({ alg, typ: 'JWT' }).sign(pair.privateKey)
      assert.equal((await verify(theirs, pair)).claims.sub, 'alice')

      const ours = signToken({ alg, typ: 'JWT', kid: 'one' }, claims, pair.privateKey)
      const jwk = { ...publicJwk(pair.publicKey), kid: 'one', alg }
      const { payload } = await jwtVerify(ours, createLocalJWKSet({ keys: [jwk] }), {
        currentDate: new Date(testTime * 1000),
      })
      assert.equal(payload.sub, 'alice')
    })
  }
}

test('every algorithm belongs to a type of key, and the lists of those who accept fewer are of them', () => {
  assert.deepEqual([...jwsAlgorithms], everyAlgorithm)
  assert.deepEqual(
    [...jwsAlgorithmsOnce],
    everyAlgorithm.filter((name) => name !== 'Ed25519'),
  )
  assert.deepEqual([...serviceAccountAlgorithms], ['RS256', 'RS384', 'RS512', 'ES256', 'ES384'])
})

test('a key verifies with the algorithms of its type and with no other', () => {
  const input = Buffer.from('input')
  for (const [pair, algorithms] of pairs) {
    const signatures = algorithms.map((alg) => createSignature(alg, pair.privateKey, input))
    for (const alg of [...everyAlgorithm, 'none', 'HS256', 'ES256K', 'RS1', '', 'constructor', '__proto__']) {
      if (algorithms.includes(alg)) continue
      for (const signature of signatures)
        assert.equal(verifySignature(alg, verifier(pair), input, signature), false, alg)
      assert.throws(() => createSignature(alg, pair.privateKey, input), /cannot sign/, alg)
    }
  }
})

test('a signature is tied to its algorithm, its key and its input', () => {
  const [input, other] = [Buffer.from('input'), Buffer.from('inputs')]
  const [second] = [rsa()]
  for (const alg of ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']) {
    const signature = createSignature(alg, rsaPair.privateKey, input)
    for (const taken of ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'])
      assert.equal(verifySignature(taken, verifier(rsaPair), input, signature), taken === alg)
    assert.equal(verifySignature(alg, verifier(rsaPair), other, signature), false)
    assert.equal(verifySignature(alg, verifier(second), input, signature), false)
  }
})

test('a signature of any other bytes and length is wrong, and never an exception', () => {
  const input = Buffer.from('input')
  fc.assert(
    fc.property(
      fc.constantFrom(...pairs),
      fc.oneof(fc.uint8Array({ maxLength: 600 }), fc.uint8Array({ minLength: 64, maxLength: 64 })),
      ([pair, algorithms], bytes) => {
        for (const alg of algorithms) assert.equal(verifySignature(alg, verifier(pair), input, bytes), false)
      },
    ),
    { numRuns: 60 },
  )
  // CVE-2022-21449: r = s = 0.
  assert.equal(verifySignature('ES256', verifier(ecPair), input, Buffer.alloc(64)), false)
})

test('an ECDSA signature is taken as r‖s alone, not in DER', () => {
  const input = Buffer.from('input')
  const der = sign('sha256', input, { key: ecPair.privateKey, dsaEncoding: 'der' })
  assert.equal(verifySignature('ES256', verifier(ecPair), input, der), false)
})

test('a PSS signature has a salt as long as its hash (RFC 7518 §3.5)', () => {
  const input = Buffer.from('input')
  const signWithSalt = (saltLength: number) =>
    sign('sha256', input, { key: rsaPair.privateKey, padding: 6, saltLength })
  assert.equal(verifySignature('PS256', verifier(rsaPair), input, signWithSalt(32)), true)
  for (const length of [0, 20, 64])
    assert.equal(
      verifySignature('PS256', verifier(rsaPair), input, signWithSalt(length)),
      false,
      String(length),
    )
})

test('an unsecured token is refused in every spelling of none (RFC 8725 §3.2)', async () => {
  const unsecured = new UnsecuredJWT(claims).encode()
  await assertRefused(unsecured, /wrong/, ecPair)
  const signature = tokenOfText('{"alg":"ES256"}', text, ecPair.privateKey).split('.')[2] ?? ''
  for (const alg of ['none', 'None', 'NONE', 'nOnE', '']) {
    const head = Buffer.from(JSON.stringify({ alg })).toString('base64url')
    const body = Buffer.from(text).toString('base64url')
    await assertRefused(`${head}.${body}.`, /wrong/, ecPair)
    await assertRefused(`${head}.${body}.${signature}`, /wrong/, ecPair)
  }
})

test('a public key is never taken for an HMAC secret (RFC 8725 §2.1)', async () => {
  for (const pair of [rsaPair, ecPair]) {
    const jwk = publicJwk(pair.publicKey)
    const secrets = [
      pair.publicKey.export({ type: 'spki', format: 'pem' }),
      pair.publicKey.export({ type: 'spki', format: 'der' }),
      JSON.stringify(jwk),
      Buffer.from(jwk.n ?? jwk.x ?? '', 'base64url'),
      '',
    ]
    for (const secret of secrets) {
      for (const [alg, hash] of [
        ['HS256', 'sha256'],
        ['HS384', 'sha384'],
        ['HS512', 'sha512'],
      ] as const) {
        const head = Buffer.from(JSON.stringify({ alg, kid: jwk.kid })).toString('base64url')
        const input = `${head}.${Buffer.from(text).toString('base64url')}`
        const mac = createHmac(hash, secret).update(input).digest('base64url')
        await assertRefused(`${input}.${mac}`, /wrong/, pair)
      }
    }
  }
})

test('a token may be restricted to fewer algorithms than its key allows', async () => {
  const token = (alg: string): string => signToken({ alg }, claims, rsaPair.privateKey)
  const keys = createInlineKeySet(createJwkSet(rsaPair))
  const narrow = { ...expected, algorithms: ['PS256'] }
  assert.ok(await verifyToken(token('PS256'), keys, narrow, clock))
  await assert.rejects(verifyToken(token('RS256'), keys, narrow, clock), /alg is not allowed/)
  const bound = createInlineKeySet({ keys: [{ ...publicJwk(rsaPair.publicKey), alg: 'PS256' }] })
  assert.ok(await verifyToken(token('PS256'), bound, expected, clock))
  await assert.rejects(verifyToken(token('PS384'), bound, expected, clock), /signature is wrong/)
})
