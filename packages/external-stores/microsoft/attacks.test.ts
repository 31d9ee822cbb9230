import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { grant, storeKeyAs } from '@warder/kms/testing'
import { exportJWK, exportSPKI, type JWTPayload, UnsecuredJWT } from 'jose'
import { generatePair } from '../testing/issuers.ts'
import {
  currentKid,
  encrypted,
  type MicrosoftWorld,
  olderKid,
  otherTenant,
  owner,
  secret,
  serviceUrl,
  startMicrosoft,
  type TokenOptions,
  tenant,
} from './testing/world.ts'

let world: MicrosoftWorld
let value = ''
before(async () => {
  world = await startMicrosoft()
  value = encrypted(await world.publicKey())
})
after(() => world[Symbol.asyncDispose]())

const now = () => Math.floor(Date.now() / 1000)
const body = () => ({ alg: 'RSA-OAEP-256', value })
const ask = async (claims: JWTPayload = {}, options: TokenOptions = {}) =>
  world.decrypt(await world.token(claims, options), body())

test('without a token there is no second half of a key, and clients are told where to get one', async () => {
  const attempts = [
    await world.decrypt(undefined, body()),
    await world.kms.with({}).call('POST', `/ms_dke/finance/${currentKid}/decrypt`),
    await world.kms
      .with({ authorization: 'Basic YTpi' })
      .post(`/ms_dke/finance/${currentKid}/decrypt`, body()),
    await world.kms.user('alice@contoso.com').post(`/ms_dke/finance/${currentKid}/decrypt`, body()),
    await world.kms.with({ cookie: 'auth_session=x' }).post(`/ms_dke/finance/${currentKid}/decrypt`, body()),
  ]
  for (const { status, headers, text } of attempts) {
    assert.equal(status, 401, text)
    assert.equal(
      headers['www-authenticate'],
      'Bearer resource="https://dke.contoso.com", authorization="https://login.windows.net/common/oauth2/authorize", realm="https://dke.contoso.com"',
    )
    assert.equal(headers.resource, 'https://dke.contoso.com')
    assert.equal(headers.authorization, 'https://login.windows.net/common/oauth2/authorize')
    assert.ok(!text.includes(secret.toString('base64')))
  }
})

test('tokens of both versions are accepted: what follows fails for its one difference', async () => {
  assert.equal((await ask()).status, 200)
  assert.equal((await ask({}, { version: 2 })).status, 200)
  assert.equal((await ask({ upn: undefined, email: 'ALICE@contoso.com' })).status, 200)
})

/** Claims with times are computed when their test runs: a slow machine loads this file minutes before. */
type Claims = JWTPayload | (() => JWTPayload)
const claimsNow = (claims: Claims): JWTPayload => (typeof claims === 'function' ? claims() : claims)

const refused: readonly (readonly [string, Claims, TokenOptions?])[] = [
  ['of another tenant', {}, { of: otherTenant }],
  ['of another tenant, version 2', {}, { of: otherTenant, version: 2 }],
  ['of this tenant that names another', { tid: otherTenant }],
  ['without a tenant', { tid: undefined }],
  ['of another issuer', { iss: `https://sts.evil.example/${tenant}/` }],
  ['of an issuer without the slash', { iss: `https://sts.windows.net/${tenant}` }],
  ['of the common issuer', { iss: 'https://sts.windows.net/common/' }],
  ['for another audience', { aud: 'https://other.contoso.com' }],
  ['for the audience with a slash', { aud: 'https://dke.contoso.com/' }],
  ['for no audience', { aud: undefined } as unknown as JWTPayload],
  ['expired', () => ({ exp: now() - 61 })],
  ['without an end', { exp: undefined } as unknown as JWTPayload],
  ['of the future', () => ({ nbf: now() + 120 })],
  ['signed by another tenant', {}, { signer: `entra ${otherTenant} 1` }],
  ['signed for the other version', {}, { signer: `entra ${tenant} 2` }],
  ['signed by nobody we know', {}, { signer: 'evil' }],
  ['that brings its keys along', {}, { signer: 'evil', header: { jku: 'https://127.0.0.1:1/' } }],
  ['that brings its certificate along', {}, { signer: 'evil', header: { x5u: 'https://127.0.0.1:1/' } }],
  ['of nobody', { upn: undefined, oid: undefined }],
  ['of several people', { upn: ['alice@contoso.com', 'bob@contoso.com'] }],
  ['of a trial where there are none', { iss: `${serviceUrl}/trial` }],
]
for (const [name, claims, options] of refused) {
  test(`a token ${name} is not accepted`, async () => {
    const { status, headers } = await ask(claimsNow(claims), options)
    assert.equal(status, 401)
    assert.match(headers['www-authenticate'] ?? '', /^Bearer resource=/)
  })
}

test('a token without a signature, or with a MAC, is not accepted', async () => {
  const claims = {
    iss: `https://sts.windows.net/${tenant}/`,
    aud: 'https://dke.contoso.com',
    iat: now(),
    exp: now() + 300,
    tid: tenant,
    upn: 'alice@contoso.com',
  }
  const b64 = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const head = `${b64({ alg: 'HS256', kid: `entra ${tenant} 1` })}.${b64(claims)}`
  const { publicKey } = await generatePair(`entra ${tenant} 1`)
  const mac = createHmac('sha256', await exportSPKI(publicKey))
    .update(head)
    .digest('base64url')
  for (const token of [new UnsecuredJWT(claims).encode(), `${head}.${mac}`, 'a.b.c', 'x'])
    assert.equal((await world.decrypt(token, body())).status, 401)
})

test('a key decrypts for whom it was granted to: by address, by role and by group', async () => {
  const bob = { upn: 'bob@contoso.com' }
  assert.equal((await ask(bob)).status, 403)
  assert.equal((await ask({ upn: 'al\u0131ce@contoso.com' })).status, 403)
  assert.equal((await ask({ upn: 'alice@contoso.com.evil' })).status, 403)
  assert.equal((await ask({ email: 'bob@contoso.com' })).status, 403, 'email counts before upn')
  assert.equal((await ask({ ...bob, roles: ['Finance'] })).status, 403)
  await world.grant('role:Finance')
  assert.equal((await ask({ ...bob, roles: ['Other', 'Finance'] })).status, 200)
  assert.equal((await ask({ ...bob, roles: ['finance'] })).status, 403, 'roles are compared as they are')
  assert.equal((await ask({ ...bob, roles: 'Finance' })).status, 403)
  const group = 'a4ff8a4e-0000-4000-8000-000000000001'
  await world.grant(`role:${group}`)
  assert.equal((await ask({ ...bob, groups: [group] })).status, 200)
  // Some groups are asked for at once: the last of each such part counts, up to the most that are looked at.
  const others = (count: number) => Array.from({ length: count }, (_, index) => `group ${index}`)
  for (const before of [0, 13, 14, 15, 16, 30, 31, 199])
    assert.equal((await ask({ ...bob, groups: [...others(before), group] })).status, 200, `after ${before}`)
  assert.equal((await ask({ ...bob, groups: others(199) })).status, 403)
  assert.equal(
    (await ask({ ...bob, groups: [...others(200), group] })).status,
    403,
    'more than are looked at',
  )
  assert.equal((await ask({ upn: undefined, roles: ['Finance'] })).status, 200, 'a program with the role')
  assert.match(String(world.kms.audit.at(-1)?.principal), /^microsoft:2ec40e65-.*\/690222be-/)
  assert.equal((await ask({ upn: undefined })).status, 400, 'neither address nor role')
  assert.equal((await ask({ upn: 'role:Finance@contoso.com' })).status, 401)
})

test('a right that is taken back is gone on the next request', async () => {
  await world.grant('carol@contoso.com')
  const carol = { upn: 'carol@contoso.com' }
  assert.equal((await ask(carol)).status, 200)
  const granted = {
    unique_identifier: currentKid,
    user_id: 'microsoft:carol@contoso.com',
    operation_types: ['decrypt'],
  }
  assert.equal((await world.kms.user(owner).post('/access/revoke', granted)).status, 200)
  assert.equal((await ask(carol)).status, 403)
})

test('keys that are no version of the name are not there, whoever owns them and whatever tag they have', async () => {
  const token = await world.token()
  const jwk = (await exportJWK((await generatePair('dke of mallory')).privateKey)) as Record<string, unknown>
  const foreign = '0199aaaa-0000-7000-8000-0000000000ff'
  await storeKeyAs(world.kms, foreign, 'mallory', jwk, 'RSA-OAEP-256', true)
  const mallory = world.kms.user('mallory')
  assert.equal((await mallory.post(`/v1/crypto/keys/${foreign}/tags`, { tags: ['dke:finance'] })).status, 200)
  await grant(mallory, foreign, 'microsoft:*', 'decrypt')
  const untagged = '0199aaaa-0000-7000-8000-0000000000fe'
  await storeKeyAs(world.kms, untagged, owner, jwk, 'RSA-OAEP-256', true)
  await world.grant('alice@contoso.com', untagged)
  for (const kid of [foreign, untagged, 'nothing', '*', '%2e%2e', olderKid.toUpperCase()]) {
    const { status, json } = await world.decrypt(token, body(), kid)
    assert.equal(status, 400, kid)
    assert.match(json.description, /does not exist/)
  }
  assert.equal((await world.decrypt(token, body(), currentKid, 'Finance')).status, 400)
  assert.equal((await world.decrypt(token, body(), currentKid, 'legal')).status, 400)
  for (const name of ['Finance', 'legal', '__proto__', 'finance%00', currentKid])
    assert.equal((await world.publicKey(name)).status, 400, name)
})

test('other algorithms, other encodings and other ciphertexts are refused', async () => {
  const token = await world.token()
  const publicKey = await world.publicKey()
  const cases: readonly (readonly [string, unknown, RegExp])[] = [
    ['RSA-OAEP', { alg: 'RSA-OAEP', value }, /alg: only RSA-OAEP-256/],
    ['RSA1_5', { alg: 'RSA1_5', value }, /alg/],
    ['in lower case', { alg: 'rsa-oaep-256', value }, /alg/],
    ['no algorithm', { value }, /alg/],
    ['SHA-1', { ...body(), value: encrypted(publicKey, secret, 'sha1') }, /Decryption failed/],
    [
      'base64url',
      { ...body(), value: value.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '-') },
      /base64/,
    ],
    ['empty', { ...body(), value: '' }, /empty/],
    ['too long', { ...body(), value: randomBytes(1025).toString('base64') }, /longer/],
    ['short', { ...body(), value: 'AAAA' }, /Decryption failed/],
    ['random', { ...body(), value: randomBytes(256).toString('base64') }, /Decryption failed/],
    ['a list', { ...body(), value: [value] }, /value/],
  ]
  for (const [name, sent, message] of cases) {
    const { status, json } = await world.decrypt(token, sent)
    assert.equal(status, 400, name)
    assert.match(json.description, message, name)
  }
  assert.equal((await world.decrypt(token, { ...body(), padding: 'x'.repeat(20_000) })).status, 413)
})

test('what Google Workspace wrapped is nothing to Microsoft', async () => {
  const token = await world.token()
  const blob = Buffer.concat([Buffer.from('WGC\u0001\u0001'), randomBytes(251)]).toString('base64')
  assert.equal((await world.decrypt(token, { ...body(), value: blob })).status, 400)
})

test('a key of another kind, and one that is not RSA, is never given out', async () => {
  const alice = world.kms.user(owner)
  const kid = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json.kid
  const signing = (await alice.post('/v1/crypto/keys', { kty: 'RSA', alg: 'RS256', bits: 2048 })).json.kid
  for (const wrong of [kid, signing]) {
    await using other = await startMicrosoft({
      issuers: world.issuers,
      db: world.kms.environment.db,
      seal: world.kms.environment.seal,
      keys: false,
      config: { 'ms_dke_config.ms_dke_keys': [`finance=${wrong}`] },
    })
    const { status, text } = await other.publicKey()
    assert.equal(status, 400, text)
  }
})

test('a trial decrypts with its own key alone, and nobody else does', async () => {
  const trialKid = '0199aaaa-0000-7000-8000-0000000000aa'
  const signerKid = '0199aaaa-0000-7000-8000-0000000000ab'
  await using trials = await startMicrosoft({
    config: {
      'ms_dke_config.ms_dke_keys': [`finance=${currentKid}`, `warder-trial=${trialKid}`],
      'ms_dke_config.ms_dke_trial_key': signerKid,
    },
  })
  const exportJwk = async (name: string) =>
    (await exportJWK((await generatePair(name)).privateKey)) as Record<string, unknown>
  await storeKeyAs(trials.kms, trialKid, owner, await exportJwk('dke trial'), 'RSA-OAEP-256', true)
  await storeKeyAs(trials.kms, signerKid, owner, await exportJwk('dke trial signer'), 'RS256', true)
  await trials.grant('*', trialKid)
  await grant(trials.kms.user(owner), signerKid, 'microsoft:*', 'sign')
  const trial = (claims: JWTPayload = {}) =>
    trials.token(
      { iss: `${serviceUrl}/trial`, tid: undefined, ...claims },
      { signer: 'dke trial signer', header: { kid: signerKid } },
    )
  const of = async (name: string) => ({ ...body(), value: encrypted(await trials.publicKey(name)) })
  const own = await trials.decrypt(await trial(), await of('warder-trial'), trialKid, 'warder-trial')
  assert.deepEqual(own.json, { value: secret.toString('base64') })
  assert.equal((await trials.decrypt(await trial(), await of('finance'))).status, 403)
  const people = await trials.decrypt(
    await trials.token(),
    await of('warder-trial'),
    trialKid,
    'warder-trial',
  )
  assert.equal(people.status, 403)
  const wrong = await trial({ aud: 'other' })
  assert.equal((await trials.decrypt(wrong, await of('warder-trial'), trialKid, 'warder-trial')).status, 401)
})

test('nothing that was decrypted, and no token, is recorded, logged or stored', async () => {
  const token = await world.token()
  assert.equal((await world.decrypt(token, body())).status, 200)
  const said = JSON.stringify(world.kms.audit) + world.kms.log.join('\n')
  for (const text of [secret.toString('base64'), token, value]) assert.ok(!said.includes(text))
  assert.ok(!(await world.kms.storedBytes()).includes(secret))
})
