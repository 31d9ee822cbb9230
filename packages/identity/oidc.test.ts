import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Answer, type Started, startKms } from '@warder/kms/testing'
import { publicJwk, signToken } from '@warder/server'

const signer = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = publicJwk(signer.publicKey)
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** A provider that hands out what the test wants, and keeps what it was asked. */
interface Provider {
  readonly issuer: string
  down: boolean
  /** Changes to the ID token. */
  claims: Readonly<Record<string, unknown>>
  key: typeof signer.privateKey
  alg: string
  /** PKCE challenge of each code. */
  readonly challenges: Map<string, string>
  nonce: string
  tokenRequests: URLSearchParams[]
  close(): void
}

let first: Started
let kms: Started
let provider: Provider
let now = Date.now()

async function startProvider(home: string): Promise<Provider> {
  const tls = (name: string) => readFileSync(join(home, 'tls', name))
  const server = createServer({ cert: tls('auth.crt'), key: tls('auth.key') }, (request, response) => {
    const json = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    if (made.down) {
      request.socket.destroy()
    } else if (request.url === '/.well-known/openid-configuration') {
      const { issuer } = made
      json(200, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256'],
      })
    } else if (request.url === '/keys') {
      json(200, { keys: [jwk] })
    } else {
      let body = ''
      request.on('data', (part) => {
        body += part
      })
      request.on('end', () => {
        const asked = new URLSearchParams(body)
        made.tokenRequests.push(asked)
        const challenge = createHash('sha256')
          .update(asked.get('code_verifier') ?? '')
          .digest('base64url')
        const code = asked.get('code') ?? ''
        if (made.challenges.get(code) !== challenge) return json(400, { error: 'invalid_grant' })
        // A code is for one use.
        made.challenges.delete(code)
        const seconds = Math.floor(Date.now() / 1000)
        const claims = {
          iss: made.issuer,
          aud: 'warder',
          sub: 'u1',
          email: 'alice@example.test',
          email_verified: true,
          iat: seconds,
          exp: seconds + 300,
          nonce: made.nonce,
          ...made.claims,
        }
        const header = { alg: 'ES256', typ: 'JWT', kid: jwk.kid ?? '' } as const
        const signed = signToken(header, claims, made.key)
        const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${signed.split('.')[1]}.`
        json(200, {
          access_token: 'at',
          token_type: 'Bearer',
          id_token: made.alg === 'none' ? unsigned : signed,
        })
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const made: Provider = {
    issuer: `https://127.0.0.1:${port}`,
    down: false,
    claims: {},
    key: signer.privateKey,
    alg: 'ES256',
    challenges: new Map(),
    nonce: '',
    tokenRequests: [],
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
  return made
}

before(async () => {
  first = await startKms()
  provider = await startProvider(first.home)
  kms = await startOidc()
})
after(async () => {
  provider.close()
  await kms[Symbol.asyncDispose]()
  await first[Symbol.asyncDispose]()
})

function startOidc(config: object = {}): Promise<Started> {
  return startKms({
    tokens: false,
    clock: { now: () => now, monotonic: () => now },
    outboundCaFile: join(first.home, 'tls/ca.crt'),
    config: {
      kms_public_url: 'https://kms.test/',
      'ui_config.ui_oidc_auth.ui_oidc_issuer_url': provider.issuer,
      'ui_config.ui_oidc_auth.ui_oidc_client_id': 'warder',
      'ui_config.ui_oidc_auth.ui_oidc_client_secret': 'client secret',
      ...config,
    },
  })
}

const cookieOf = (answer: Answer, name: string): string =>
  (answer.headers['set-cookie'] ?? []).find((one) => one.startsWith(`${name}=`))?.split(';')[0] ?? ''

/** Goes to the provider and logs in there. @returns the cookie of the browser and the query that it comes back with */
async function atProvider(code: string, at = kms) {
  const went = await at.with({}).get('/ui/login_flow')
  assert.equal(went.status, 302, went.text)
  const asked = new URL(String(went.headers.location))
  const query = asked.searchParams
  provider.challenges.set(code, query.get('code_challenge') ?? '')
  provider.nonce = query.get('nonce') ?? ''
  return { went, asked, query, cookie: cookieOf(went, 'auth_login'), state: query.get('state') ?? '' }
}

const back = (cookie: string, query: Record<string, string>, at = kms): Promise<Answer> =>
  at.with(cookie === '' ? {} : { cookie }).get(`/ui/callback?${new URLSearchParams(query)}`)

test('a login at an OpenID provider asks with PKCE S256, state and nonce, and ends in a session (2025-006)', async () => {
  const { went, asked, query, cookie, state } = await atProvider('c1')
  assert.equal(asked.origin + asked.pathname, `${provider.issuer}/authorize`)
  assert.deepEqual(
    ['response_type', 'client_id', 'redirect_uri', 'scope', 'code_challenge_method'].map((name) =>
      query.get(name),
    ),
    ['code', 'warder', 'https://kms.test/ui/callback', 'openid email', 'S256'],
  )
  for (const name of ['state', 'nonce', 'code_challenge'])
    assert.ok((query.get(name) ?? '').length >= 43, name)
  const [header = ''] = went.headers['set-cookie'] ?? []
  assert.match(
    header,
    /^auth_login=[\w-]+; Path=\/ui\/callback; HttpOnly; Secure; SameSite=Lax; Max-Age=600$/,
  )
  assert.equal(header.includes(state), false)

  const done = await back(cookie, { code: 'c1', state })
  assert.deepEqual([done.status, done.headers.location], [302, '/ui/'], done.text)
  const session = cookieOf(done, 'auth_session')
  assert.equal(cookieOf(done, 'auth_login'), 'auth_login=')
  assert.equal((await kms.with({ cookie: session }).get('/me')).json.user, 'alice@example.test')
  const record = kms.audit.findLast(({ operation }) => operation === 'ui.callback')
  assert.deepEqual(
    [record?.principal, record?.realm, record?.outcome],
    ['alice@example.test', provider.issuer, 'success'],
  )
  assert.equal(provider.tokenRequests.at(-1)?.get('redirect_uri'), 'https://kms.test/ui/callback')
  assert.equal(provider.tokenRequests.at(-1)?.get('client_secret'), 'client secret')
  // The code was used: the same redirect again opens nothing.
  assert.equal((await back(cookie, { code: 'c1', state })).status, 401)
})

test('another browser, another login, a late or a forged one are refused, and no code is spent on them', async () => {
  const { cookie, state } = await atProvider('c2')
  const other = await atProvider('c3')
  const spent = provider.tokenRequests.length
  const attempts: [string, Record<string, string>][] = [
    ['', { code: 'c2', state }],
    [other.cookie, { code: 'c2', state }],
    [cookie, { code: 'c2', state: other.state }],
    [cookie, { code: 'c2' }],
    [cookie, { state }],
    [`${cookie.slice(0, -4)}AAAA`, { code: 'c2', state }],
    [`${cookie}; ${other.cookie}`, { code: 'c2', state }],
    [`auth_login=${'A'.repeat(3000)}`, { code: 'c2', state }],
    [cookie, { error: 'access_denied', state }],
    [cookie, { code: 'c2', state, iss: 'https://evil.test' }],
  ]
  for (const [brought, query] of attempts) {
    const answer = await back(brought, query)
    assert.deepEqual([answer.status, answer.headers['set-cookie']], [401, undefined], JSON.stringify(query))
    assert.equal(answer.json.description, 'Authentication is required or did not succeed.')
  }
  // A login cookie is no session, and a session no login.
  assert.equal(
    (await kms.with({ cookie: cookie.replace('auth_login', 'auth_session') }).get('/me')).status,
    401,
  )
  now += 600_000
  assert.equal((await back(cookie, { code: 'c2', state })).status, 401)
  assert.equal(provider.tokenRequests.length, spent)
})

test('a code of another login, and an ID token that is not for this login, let nobody in', async () => {
  const one = await atProvider('c4')
  const two = await atProvider('c5')
  // The attacker's code with the victim's login: the verifier is of another challenge.
  provider.nonce = two.query.get('nonce') ?? ''
  assert.equal((await back(two.cookie, { code: 'c4', state: two.state })).status, 401)
  void one
  const wrong: [Partial<Provider>, string][] = [
    [{ claims: { nonce: 'another' } }, 'nonce'],
    [{ claims: { nonce: undefined } }, 'no nonce'],
    [{ claims: { aud: 'someone else' } }, 'audience'],
    [{ claims: { iss: 'https://evil.test' } }, 'issuer'],
    [{ claims: { exp: 1 } }, 'expired'],
    [{ key: stranger.privateKey }, 'signature'],
    [{ alg: 'none' }, 'alg none'],
    [{ claims: { sub: '*', email: undefined } }, 'everybody'],
    [{ claims: { sub: 'app:robot', email: undefined } }, 'a name of machines'],
    [{ claims: { sub: 'u\ud800', email: undefined } }, 'half of a surrogate pair, kept as another name'],
  ]
  for (const [index, [change, what]] of wrong.entries()) {
    const { cookie, state } = await atProvider(`w${index}`)
    Object.assign(provider, change)
    const answer = await back(cookie, { code: `w${index}`, state })
    Object.assign(provider, { claims: {}, key: signer.privateKey, alg: 'ES256' })
    assert.deepEqual([answer.status, answer.headers['set-cookie']], [401, undefined], what)
  }
  const { cookie, state } = await atProvider('c6')
  provider.claims = { email_verified: false }
  const unverified = await back(cookie, { code: 'c6', state })
  provider.claims = {}
  const session = cookieOf(unverified, 'auth_session')
  assert.equal((await kms.with({ cookie: session }).get('/me')).json.user, 'u1')
})

test('a provider that does not answer lets nobody in, and everybody again when it is back (2025-007)', async () => {
  await using fresh = await startOidc()
  provider.down = true
  const refused = await fresh.with({}).get('/ui/login_flow')
  assert.deepEqual([refused.status, refused.json.error], [503, 'overloaded'])
  assert.equal((await fresh.with({}).get('/me')).status, 401)
  const { cookie, state } = await (async () => {
    provider.down = false
    const login = await atProvider('c7')
    provider.down = true
    return login
  })()
  const late = await back(cookie, { code: 'c7', state })
  assert.deepEqual([late.status, late.json.error], [503, 'overloaded'])
  provider.down = false
  assert.equal((await fresh.with({}).get('/ui/login_flow')).status, 503)
  now += 2000
  assert.equal((await fresh.with({}).get('/ui/login_flow')).status, 302)
  assert.equal((await back(cookie, { code: 'c7', state })).status, 302)
})

test('half a configuration stops the start; without any there are no such logins', async () => {
  const issuer = 'ui_config.ui_oidc_auth.ui_oidc_issuer_url'
  for (const config of [
    { 'ui_config.ui_oidc_auth.ui_oidc_client_id': undefined },
    { [issuer]: undefined },
    { [issuer]: 'http://idp.test' },
    { kms_public_url: 'http://kms.test' },
  ])
    await assert.rejects(startOidc(config), { name: 'StartupError' })
  for (const path of ['/ui/login_flow', '/ui/callback'])
    assert.equal((await first.with({}).get(path)).status, 404)
  assert.ok(!kms.log.join().includes('client secret') && !JSON.stringify(kms.audit).includes('client secret'))
})

test('roles are those of the ID token, by the sources of its provider', async () => {
  await using withRoles = await startOidc({
    role_sources: [`corp,jwt,${provider.issuer},realm_access.roles`, `more,jwt,${provider.issuer},groups,w-`],
  })
  provider.claims = { realm_access: { roles: ['auditor'] }, groups: ['w-reader', 'mail'], roles: ['admin'] }
  try {
    const { cookie, state } = await atProvider('r1', withRoles)
    const done = await back(cookie, { code: 'r1', state }, withRoles)
    assert.equal(done.status, 302, done.text)
    const session = cookieOf(done, 'auth_session')
    const { json } = await withRoles.with({ cookie: session }).get('/me')
    assert.equal(json.user, 'alice@example.test')
    assert.deepEqual(json.roles, ['role:corp/auditor', 'role:more/reader'])
  } finally {
    provider.claims = {}
  }
})
