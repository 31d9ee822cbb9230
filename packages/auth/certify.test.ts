import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { describe, it } from 'node:test'
import { scene } from './testing/scene.ts'
import { startAuth } from './testing/start.ts'

const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
const secretPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

function read(jws: string): { header: Record<string, unknown>; claims: Record<string, unknown> } {
  const [header = '', payload = ''] = jws.split('.')
  const parse = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
  return { header: parse(header), claims: parse(payload) }
}

describe('certify', () => {
  it('signs the public key with the claims of the session, by a dedicated key (A10)', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { as, realm, user, logIn } = scene(auth)
    await realm('r', { certificate_max_age_seconds: 100 })
    await user('r', 'ann', { roles: ['dev'], extra_claims: { team: 'blue', n: 1 } })
    const ann = await logIn('r', 'ann')
    const certify = (json: unknown, query = '?realm=r') => as(ann, 'POST', `/certify${query}`, json)
    const answer = await certify({
      verification_key: `\n${pem}\n`,
      claims: ['team', 'absent', 'roles', 'iss', 'sub', '__proto__'],
    })
    assert.equal(answer.status, 200, answer.text)
    const { header, claims } = read(answer.json.certificate)
    const [jwk] = (await auth.call('GET', '/.well-known/certificate-jwks.json')).json.keys
    assert.deepEqual(header, { alg: 'ES256', typ: 'JWT', kid: jwk.kid })
    const iat = Number(claims.iat)
    assert.deepEqual(claims, {
      team: 'blue',
      realm_id: 'r',
      sub: 'ann',
      auth_scheme: 'up',
      verification_key: pem.trim(),
      iat,
      exp: iat + 100,
    })
    const [input, signature] = [
      answer.json.certificate.split('.').slice(0, 2).join('.'),
      answer.json.certificate.split('.')[2],
    ]
    const signed = (key: Record<string, string>): boolean =>
      verify(
        'sha256',
        Buffer.from(input),
        { key: createPublicKey({ key, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
        Buffer.from(signature, 'base64url'),
      )
    const [sessionJwk] = (await auth.call('GET', '/.well-known/jwks.json')).json.keys
    assert.equal(signed(jwk), true)
    assert.equal(signed(sessionJwk), false)
    assert.equal((await as(answer.json.certificate, 'GET', '/whoami')).status, 401)
    assert.equal((await certify({ verification_key: pem }, '?realm=_')).status, 401)
    // No claim is copied by default. The realm is that of the session, also when the query does not name one.
    const bare = read((await certify({ verification_key: pem }, '')).json.certificate).claims
    assert.deepEqual(Object.keys(bare).sort(), [
      'auth_scheme',
      'exp',
      'iat',
      'realm_id',
      'sub',
      'verification_key',
    ])
    assert.equal(bare.realm_id, 'r')
    const anonymous = await certify({ verification_key: pem, claims: ['n'], exclude_sub: true })
    const anonymousClaims = read(anonymous.json.certificate).claims
    assert.equal('sub' in anonymousClaims, false)
    assert.equal(anonymousClaims.n, 1)
  })

  it('refuses values that are not exactly one public key, and exclude_sub without a claim', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper } = scene(auth)
    const bad: unknown[] = [
      {},
      { verification_key: '' },
      { verification_key: '  \n ' },
      { verification_key: 'text' },
      { verification_key: 7 },
      { verification_key: secretPem },
      { verification_key: pem + pem },
      { verification_key: pem.replace('END PUBLIC', 'END OTHER') },
      { verification_key: `${pem}${' '.repeat(8192)}` },
      { verification_key: pem, claims: 'team' },
      { verification_key: pem, exclude_sub: true },
      { verification_key: pem, exclude_sub: true, claims: ['sub', 'roles', 'iss'] },
    ]
    for (const json of bad) {
      const answer = await asSuper('POST', '/certify', json)
      assert.equal(answer.status, 400, JSON.stringify(json))
    }
    assert.equal((await auth.call('POST', '/certify', { json: { verification_key: pem } })).status, 401)
  })

  it('answers 500 and 404 where certificate signing is not configured', async () => {
    await using auth = await startAuth({
      adminPassword: 'correct horse',
      config: { certificate_signing: false, publish_session_jwks: false },
    })
    const { asSuper } = scene(auth)
    const answer = await asSuper('POST', '/certify', { verification_key: pem })
    assert.equal(answer.status, 500)
    assert.equal(answer.json.error, 'certificate_signing_unconfigured')
    assert.equal((await auth.call('GET', '/.well-known/certificate-jwks.json')).status, 404)
    assert.equal((await auth.call('GET', '/.well-known/jwks.json')).status, 404)
  })
})
