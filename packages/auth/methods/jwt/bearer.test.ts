import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fromBase32 } from '../../base32.ts'
import { formatKeySet, signToken, startIssuer, type TestIssuer } from '../../testing/issuer.ts'
import { scene } from '../../testing/scene.ts'
import { readCookie, startAuth, type TestService, testAuthority } from '../../testing/start.ts'
import { codeAt } from '../totp/code.ts'

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })

describe('login with a token of an identity provider', () => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-idp-'))
  let issuer: TestIssuer
  let auth: TestService
  const one = 'https://one.example'
  const two = 'https://two.example'
  const now = (): number => auth.services.now()
  const claims = (members: Record<string, unknown> = {}) => ({
    iss: one,
    sub: 'ann',
    aud: 'warder',
    exp: now() + 300,
    roles: ['super'],
    ...members,
  })
  const signed = (members: Record<string, unknown> = {}, header: Record<string, unknown> = {}): string =>
    signToken(ec.privateKey, { alg: 'ES256', kid: 'k', ...header }, claims(members))
  const logIn = (bearer: string, realm = 'r') => auth.call('POST', `/login?realm=${realm}`, { bearer })

  before(async () => {
    issuer = await startIssuer(await testAuthority(), folder)
    auth = await startAuth({ adminPassword: 'correct horse', outboundCa: issuer.caFile })
    issuer.serve('/one', { body: formatKeySet({ key: ec.publicKey, kid: 'k' }) })
    issuer.serve('/two', { body: formatKeySet({ key: rsa.publicKey, kid: 'k' }) })
    issuer.serve('/away', { status: 302, body: '', location: '/one' })
    issuer.serve('/huge', { body: `{"keys":[],"x":"${'x'.repeat(2_000_000)}"}` })
    const provider = (iss: string, path: string, members = {}) => ({
      jwt_issuer_uri: iss,
      jwks_uri: `${issuer.url}${path}`,
      ...members,
    })
    const jwt = (...idp_params: unknown[]) => ({ auth_params: { jwt_params: { idp_params } } })
    await scene(auth).realm(
      'r',
      jwt(provider(one, '/one', { jwt_audience: 'warder' }), provider(two, '/two')),
    )
    await scene(auth).realm('away', jwt(provider(one, '/away')))
    await scene(auth).realm('huge', jwt(provider(one, '/huge')))
    await scene(auth).realm('passwords')
  })
  after(async () => {
    await auth[Symbol.asyncDispose]()
    await issuer[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  it('creates a session of the subject, without roles or claims of the token', async () => {
    const answer = await logIn(signed({ team: 'blue' }))
    assert.equal(answer.status, 200, answer.text)
    const who = (await auth.call('GET', '/whoami', { cookie: readCookie(answer) })).json
    assert.deepEqual(
      [who.sub, who.as_as, who.as_rid, who.roles, who.team],
      ['ann', 'jwt', 'r', [], undefined],
    )
    const second = signToken(
      rsa.privateKey,
      { alg: 'RS256', kid: 'k' },
      claims({ iss: two, sub: 'bob', aud: 'anything' }),
    )
    assert.equal((await logIn(second)).status, 200, 'every provider is tried')
    const [event] = auth.events.filter(({ operation }) => operation === 'login').slice(-1)
    assert.deepEqual(event?.details, { issuer: two, next_step: 'Authenticated' }, 'the subject is recorded')
  })

  it('refuses every other token (A11, A12)', async () => {
    const publicPem = ec.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const hmacInput = `${encode({ alg: 'HS256', kid: 'k' })}.${encode(claims())}`
    const hmac = createHmac('sha256', publicPem).update(hmacInput).digest('base64url')
    const [header, payload, signature] = signed().split('.')
    const asked = issuer.requests.length
    const bad: Record<string, string> = {
      'wrong audience': signed({ aud: 'other' }),
      'no audience': signed({ aud: undefined }),
      expired: signed({ exp: now() - 120 }),
      'no exp': signed({ exp: undefined }),
      'exp as text': signed({ exp: String(now() + 300) }),
      'not yet valid': signed({ nbf: now() + 300 }),
      'no sub': signed({ sub: undefined }),
      'empty sub': signed({ sub: '' }),
      'sub with blanks': signed({ sub: ' ann' }),
      'sub of another type': signed({ sub: 7 }),
      'no issuer': signed({ iss: undefined }),
      'unknown issuer': signed({ iss: 'https://three.example' }),
      'issuer two signed by the key of one': signed({ iss: two }),
      'alg none': `${encode({ alg: 'none', kid: 'k' })}.${payload}.`,
      'HS256 with the public key': `${hmacInput}.${hmac}`,
      'another payload': `${header}.${encode(claims({ sub: 'bob' }))}.${signature}`,
      crit: signed({}, { crit: ['b64'], b64: false }),
      'a key of its own': signToken(
        generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
        { alg: 'ES256', kid: 'k', jku: `${issuer.url}/evil`, x5u: `${issuer.url}/evil` },
        claims(),
      ),
      'the session token of a realm': await auth.superCookie(),
    }
    for (const [what, token] of Object.entries(bad)) {
      assert.equal((await logIn(token)).status, 401, what)
    }
    assert.equal((await logIn(signed(), 'passwords')).status, 401)
    assert.equal((await logIn(signed({ aud: undefined }), 'away')).status, 401)
    assert.equal((await logIn(signed({ aud: undefined }), 'huge')).status, 401)
    assert.ok(!issuer.requests.slice(asked).includes('/evil'))
    assert.equal(issuer.requests.filter((path) => path === '/one').length, 1, 'no redirect was followed')
  })

  it('requires the TOTP code of the subject, also without a password', async () => {
    const { asSuper } = scene(auth)
    const made = await asSuper('POST', '/realms/r/totp/generate?realm=r', { username: 'sue', issuer: 'W' })
    assert.equal(made.status, 200, made.text)
    const bytes = fromBase32(made.json.secret_base32) ?? Buffer.alloc(0)
    const code = (offset: number) => codeAt(bytes, Math.floor(now() / 30) + offset, 'SHA1')
    const proof = { username: 'sue', token: code(-1), secret: made.json.secret_base32, issuer: 'W' }
    assert.equal((await asSuper('POST', '/realms/r/totp/verify?realm=r', proof)).status, 200)
    const login = (totp_code?: string, sub = 'sue') =>
      auth.call('POST', '/login?realm=r', { bearer: signed({ sub }), json: { totp_code } })
    assert.equal((await login()).json.next_step, 'TotpRequired')
    assert.equal((await login(undefined, 'tom')).json.next_step, 'Authenticated')
    assert.equal((await login('12345x')).status, 401)
    const race = await Promise.all(Array.from({ length: 6 }, () => login(code(0))))
    assert.equal(race.filter(({ status }) => status === 200).length, 1, 'once (A05)')
    await asSuper('DELETE', '/realms/r/totp/sue?realm=r')
    auth.clock.advance(10)
    assert.equal((await login()).json.next_step, 'Authenticated')
  })

  it('fetches new keys at most once per interval, and keeps the old ones when that fails', async () => {
    const next = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const rotated = () => signToken(next.privateKey, { alg: 'ES256', kid: 'next' }, claims())
    for (let index = 0; index < 5; index++) assert.equal((await logIn(rotated())).status, 401)
    assert.ok(issuer.requests.filter((path) => path === '/one').length <= 2)
    auth.clock.advance(61)
    issuer.serve('/one', { status: 500, body: '' })
    assert.equal((await logIn(rotated())).status, 401)
    assert.equal((await logIn(signed())).status, 200)
    issuer.serve('/one', { body: formatKeySet({ key: next.publicKey, kid: 'next' }) })
    auth.clock.advance(61)
    assert.equal((await logIn(rotated())).status, 200)
    assert.equal((await logIn(signed())).status, 401, 'the withdrawn key is gone')
  })
})
