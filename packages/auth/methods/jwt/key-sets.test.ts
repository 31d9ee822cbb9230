import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { publicJwk } from '@warder/server'
import { formatKeySet, signToken, startIssuer, type TestIssuer } from '../../testing/issuer.ts'
import { scene } from '../../testing/scene.ts'
import { readCookie, startAuth, type TestService, testAuthority } from '../../testing/start.ts'

const [one, two] = [1, 2].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' })) as [
  { publicKey: KeyObject; privateKey: KeyObject },
  { publicKey: KeyObject; privateKey: KeyObject },
]

interface Setting {
  readonly auth: TestService
  readonly issuer: TestIssuer
  /** Creates a realm whose identity provider publishes its keys at this URL. */
  provided(realm: string, jwks_uri: string, members?: Record<string, unknown>): Promise<void>
  token(by?: KeyObject, members?: Record<string, unknown>, header?: Record<string, unknown>): string
  logIn(realm: string, bearer: string): ReturnType<TestService['call']>
}

async function withIssuer(
  test: (setting: Setting) => Promise<void>,
  reached: 'by its authority' | 'another authority' | 'not at all' = 'by its authority',
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'warder-keys-'))
  try {
    await using issuer = await startIssuer(await testAuthority(), folder)
    if (reached === 'another authority') {
      writeFileSync(issuer.caFile, (await testAuthority()).certificatePem)
    }
    await using auth = await startAuth({
      adminPassword: 'correct horse',
      ...(reached === 'not at all' ? {} : { outboundCa: issuer.caFile }),
    })
    await test({
      auth,
      issuer,
      provided: (id, jwks_uri, members = {}) =>
        scene(auth).realm(id, {
          auth_params: {
            jwt_params: { idp_params: [{ jwt_issuer_uri: 'https://idp', jwks_uri }], ...members },
          },
        }),
      token: (by = one.privateKey, members = {}, header = {}) =>
        signToken(
          by,
          { alg: 'ES256', kid: 'k', ...header },
          { iss: 'https://idp', sub: 'ann', exp: auth.services.now() + 300, ...members },
        ),
      logIn: (id, bearer) => auth.call('POST', `/login?realm=${id}`, { bearer }),
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

describe('the key set of an identity provider', () => {
  it('that is slow, huge, absent, malformed, or redirects allows no login (A13, A33)', async () => {
    await withIssuer(async ({ auth, issuer, provided, token, logIn }) => {
      const good = formatKeySet({ key: one.publicKey, kid: 'k' })
      const many = Array.from({ length: 100_000 }, (_, index) => ({ kty: 'EC', kid: `k${index}` }))
      issuer.serve('/good', { body: good })
      issuer.serve('/slow', { body: good, stalls: true })
      issuer.serve('/huge', { body: `${good.slice(0, -1)},"x":"${'x'.repeat(1_100_000)}"}` })
      issuer.serve('/many', { body: JSON.stringify({ keys: many }) })
      issuer.serve('/away', { status: 302, body: '', location: `${issuer.url}/good` })
      issuer.serve('/metadata', { status: 307, body: '', location: 'https://169.254.169.254/latest' })
      issuer.serve('/error', { status: 500, body: good })
      issuer.serve('/text', { body: 'no JSON' })
      issuer.serve('/list', { body: '[]' })
      issuer.serve('/null', { body: '{"keys":null}' })
      issuer.serve('/twice', { body: `{"keys":[],"keys":${good.slice(8)}` })
      const bad = [
        'slow',
        'huge',
        'many',
        'away',
        'metadata',
        'error',
        'text',
        'list',
        'null',
        'twice',
        'absent',
      ]
      await provided('fine', `${issuer.url}/good`)
      for (const name of bad) await provided(name, `${issuer.url}/${name}`)
      const answers = await Promise.all(bad.map((name) => logIn(name, token())))
      for (const [index, answer] of answers.entries()) {
        assert.equal(answer.status, 401, `${bad[index]}`)
        assert.deepEqual(answer.json, answers[0]?.json, 'the answer does not disclose the reason')
        assert.equal(answer.headers['set-cookie'], undefined)
      }
      assert.equal(issuer.requests.filter((path) => path === '/good').length, 0, 'no redirect was followed')
      assert.equal((await logIn('fine', token())).status, 200)
      assert.ok(!answers.some(({ text }) => text.includes(issuer.url)))
      assert.equal((await auth.call('GET', '/health')).status, 200)
    })
  })

  it('at a private address, a loopback name or over plain HTTP is never fetched (A13)', async () => {
    await withIssuer(async ({ auth, issuer, provided, token, logIn }) => {
      issuer.serve('/keys', { body: formatKeySet({ key: one.publicKey, kid: 'k' }) })
      const { port } = new URL(issuer.url)
      const places = [
        `${issuer.url}/keys`,
        `https://127.0.0.1:${port}/keys`,
        `https://[::1]:${port}/keys`,
        `https://[::ffff:127.0.0.1]:${port}/keys`,
        `https://2130706433:${port}/keys`,
        `https://0x7f.1:${port}/keys`,
        `https://0.0.0.0:${port}/keys`,
        'https://10.0.0.1/keys',
        'https://169.254.169.254/latest/meta-data',
        'https://[fd00::1]/keys',
      ]
      for (const [index, place] of places.entries()) {
        await provided(`private${index}`, place)
        assert.equal((await logIn(`private${index}`, token())).status, 401, place)
      }
      assert.deepEqual(issuer.requests, [])
      for (const place of ['http://idp.example/keys', 'ftp://idp.example/', 'file:///etc/passwd', 'keys']) {
        const answer = await scene(auth).asSuper('POST', '/admins/realms', {
          id: 'plain',
          auth_params: { jwt_params: { idp_params: [{ jwt_issuer_uri: 'x', jwks_uri: place }] } },
          session_max_age_seconds: 9,
          session_max_stale_age_seconds: 9,
        })
        assert.equal(answer.status, 400, place)
      }
    }, 'not at all')
  })

  it('from a server with an untrusted certificate is rejected; of two keys with one kid each is tried (A13, A33)', async () => {
    await withIssuer(async ({ issuer, provided, token, logIn }) => {
      issuer.serve('/keys', { body: formatKeySet({ key: one.publicKey, kid: 'k' }) })
      await provided('r', `${issuer.url}/keys`)
      assert.equal((await logIn('r', token())).status, 401)
      assert.deepEqual(issuer.requests, [], 'nothing was asked over such a connection')
    }, 'another authority')
    await withIssuer(async ({ issuer, provided, token, logIn }) => {
      const keys = [two, one].map(({ publicKey }) => ({ key: publicKey, kid: 'k' }))
      issuer.serve('/keys', { body: formatKeySet(...keys) })
      await provided('r', `${issuer.url}/keys`)
      assert.equal((await logIn('r', token())).status, 200, 'each of the two is tried')
      const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
      assert.equal((await logIn('r', token(stranger))).status, 401)
    })
  })

  it('is fetched once for concurrent logins, and again at most once per interval', async () => {
    await withIssuer(async ({ auth, issuer, provided, token, logIn }) => {
      issuer.serve('/keys', { body: formatKeySet({ key: one.publicKey, kid: 'k' }) })
      await provided('r', `${issuer.url}/keys`, { smallest_refresh_interval_seconds: 30 })
      const first = await Promise.all(Array.from({ length: 10 }, () => logIn('r', token())))
      assert.ok(first.every(({ status }) => status === 200))
      assert.equal(issuer.requests.length, 1)
      const unknown = Array.from({ length: 20 }, (_, index) =>
        token(two.privateKey, {}, { kid: `unknown${index}` }),
      )
      for (const one of await Promise.all(unknown.map((jwt) => logIn('r', jwt)))) {
        assert.equal(one.status, 401)
      }
      assert.equal(issuer.requests.length, 1, 'invented kids make no requests')
      auth.clock.advance(31)
      for (const jwt of unknown) await logIn('r', jwt)
      assert.equal(issuer.requests.length, 2)
    })
  })
})

describe('two identity providers of one realm', () => {
  it('with the same kid are distinguished by issuer, and neither signs for the other (A12)', async () => {
    await withIssuer(async ({ auth, issuer, token, logIn }) => {
      issuer.serve('/one', { body: formatKeySet({ key: one.publicKey, kid: 'k' }) })
      issuer.serve('/two', { body: formatKeySet({ key: two.publicKey, kid: 'k' }) })
      const provider = (name: string) => ({
        jwt_issuer_uri: `https://${name}`,
        jwks_uri: `${issuer.url}/${name}`,
      })
      await scene(auth).realm('r', {
        auth_params: { jwt_params: { idp_params: [provider('one'), provider('two')] } },
      })
      const of = (key: KeyObject, iss: unknown) =>
        logIn('r', token(key, { iss, sub: iss === 'https://two' ? 'bob' : 'ann' }))
      assert.equal((await of(one.privateKey, 'https://one')).status, 200)
      assert.equal((await of(two.privateKey, 'https://two')).status, 200)
      for (const [key, iss] of [
        [one.privateKey, 'https://two'],
        [two.privateKey, 'https://one'],
        [one.privateKey, 'https://one/'],
        [one.privateKey, 'HTTPS://ONE'],
        [one.privateKey, ['https://one', 'https://two']],
        [one.privateKey, null],
      ] as const) {
        assert.equal((await of(key, iss)).status, 401, JSON.stringify(iss))
      }
      // When one of them is down, the other one is not affected.
      issuer.serve('/two', { status: 500, body: '' })
      auth.clock.advance(4000)
      assert.equal((await of(one.privateKey, 'https://one')).status, 200)
    })
  })
})

/** Signs a token with the first key over exactly these header and claims texts. */
function signedText(header: string, claims: string): string {
  const input = [header, claims].map((text) => Buffer.from(text).toString('base64url')).join('.')
  const signature = sign('sha256', Buffer.from(input), { key: one.privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

describe('tokens', () => {
  it('cannot supply a key or its location in the token (A11)', async () => {
    await withIssuer(async ({ auth, issuer, provided, token, logIn }) => {
      issuer.serve('/keys', { body: formatKeySet({ key: one.publicKey, kid: 'k' }) })
      issuer.serve('/evil', { body: formatKeySet({ key: two.publicKey, kid: 'k' }) })
      await provided('r', `${issuer.url}/keys`)
      const evil = `${issuer.url}/evil`
      for (const header of [
        { jku: evil },
        { x5u: evil },
        { jwk: publicJwk(two.publicKey) },
        { x5c: ['MIIB'] },
        { kid: evil },
        { kid: '../../../dev/null' },
        { kid: '' },
      ]) {
        assert.equal(
          (await logIn('r', token(two.privateKey, {}, header))).status,
          401,
          JSON.stringify(header),
        )
      }
      assert.ok(!issuer.requests.includes('/evil'))
      // Parsers disagree on duplicate members, the first or the last: tokens that have them are refused.
      const claims = `"iss":"https://idp","exp":${auth.services.now() + 300}`
      assert.equal(
        (await logIn('r', signedText('{"alg":"ES256","kid":"k"}', `{${claims},"sub":"ann"}`))).status,
        200,
      )
      for (const [header, body] of [
        ['{"alg":"ES256","kid":"x","kid":"k"}', `{${claims},"sub":"ann"}`],
        ['{"alg":"none","alg":"ES256","kid":"k"}', `{${claims},"sub":"ann"}`],
        ['{"alg":"ES256","kid":"k"}', `{${claims},"sub":"admin","sub":"ann"}`],
        ['{"alg":"ES256","kid":"k"}', `{"iss":"https://other",${claims},"sub":"ann"}`],
        ['{"alg":"ES256","kid":["k"]}', `{${claims},"sub":"ann"}`],
      ] as const) {
        assert.equal((await logIn('r', signedText(header, body))).status, 401, `${header} ${body}`)
      }
      const long = token(one.privateKey, { padding: 'x'.repeat(20_000) })
      assert.ok([401, 431].includes((await logIn('r', long)).status), 'longer than any header')
      for (const members of [{ nbf: -1 }, { exp: -1 }, { exp: null }, { iat: 'now' }, { sub: ['ann'] }]) {
        const answer = await logIn('r', token(one.privateKey, members))
        assert.equal(answer.status, 401, JSON.stringify(members))
      }
    })
  })

  it('get valid and forged tokens, a hundred at once, repeatedly: no forged one is accepted (A14)', async () => {
    await withIssuer(async ({ issuer, provided, token, logIn }) => {
      issuer.serve('/keys', { body: formatKeySet({ key: one.publicKey, kid: 'k' }) })
      await provided('r', `${issuer.url}/keys`)
      for (let round = 0; round < 5; round++) {
        const forged = Array.from({ length: 100 }, (_, index) => (index + round) % 2 === 0)
        const answers = await Promise.all(
          forged.map((isForged, index) =>
            logIn('r', token(isForged ? two.privateKey : one.privateKey, { sub: `u${index}` })),
          ),
        )
        for (const [index, answer] of answers.entries()) {
          assert.equal(answer.status, forged[index] ? 401 : 200)
          if (!forged[index]) assert.ok(readCookie(answer).length > 100)
        }
      }
    })
  })
})
