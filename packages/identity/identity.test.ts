import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { Secret } from '@warder/base'
import { principalNamed } from '@warder/keys'
import { Enumeration, enumeration, structure, Tag, type TtlvNode } from '@warder/kmip-codec'
import {
  activeSince,
  aesKey,
  attributes,
  keyBlock,
  keyOf,
  kmipClient,
  mask,
  objectType,
  uid,
} from '@warder/kmip-server/testing'
import { kmsSettings } from '@warder/kms/settings'
import { type Started, startKms } from '@warder/kms/testing'
import type { Outbound } from '@warder/outbound'
import { loadConfig } from '@warder/runtime/settings'
import { type IncomingRequest, publicJwk, signToken } from '@warder/server'
import { appToken } from './app-token.ts'

const who = async (kms: Started, headers: Readonly<Record<string, string>>): Promise<string> => {
  const answer = await kms.with(headers).get('/me')
  return answer.status === 200 ? answer.json.user : String(answer.status)
}
const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` })

/** A second issuer with a key set of its own in a file. */
function otherIssuer(folder: string, name: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicJwk(publicKey)
  const file = join(folder, `${name}.json`)
  writeFileSync(file, JSON.stringify({ keys: [jwk] }))
  return {
    file: `file:${file}`,
    token(claims: object): string {
      const header = { alg: 'ES256', typ: 'JWT', kid: jwk.kid ?? '' }
      return signToken(header, { exp: Math.floor(Date.now() / 1000) + 600, ...claims }, privateKey)
    },
  }
}

function requestWith(headers: Readonly<Record<string, string>>): IncomingRequest {
  return {
    id: '1',
    method: 'GET',
    path: '/',
    query: new URLSearchParams(),
    rawQuery: '',
    headers,
    cookies: () => [],
    clientAddress: '127.0.0.1',
    isAddressKnown: true,
    peerAddress: '127.0.0.1',
    connection: {},
    peerCertificate: () => undefined,
    body: new Uint8Array(),
  }
}

test('when no method is configured everybody is the default user', async () => {
  await using kms = await startKms({ tokens: false })
  assert.equal(await who(kms, {}), 'admin')
})

test('a session token of the authentication service is its subject; anything wrong with it is 401', async () => {
  await using kms = await startKms({ config: { auth_verifier_realm: 'r1' } })
  const good = { sub: 'alice', aud: ['r1'], as_rid: 'r1' }
  assert.equal(await who(kms, bearer(kms.token(good))), 'alice')
  assert.equal(await who(kms, { authorization: `bEaReR ${kms.token(good)}` }), 'alice')
  const now = Math.floor(Date.now() / 1000)
  const wrong: Readonly<Record<string, unknown>>[] = [
    { ...good, aud: ['r2'] },
    { ...good, aud: undefined },
    { ...good, sub: undefined },
    { ...good, sub: '' },
    { ...good, sub: '*' },
    { ...good, sub: ' alice' },
    { ...good, sub: 'al\u0000ice' },
    { ...good, sub: 'app:robot' },
    { ...good, sub: 'spiffe://example/robot' },
    { ...good, exp: now - 120 },
    { ...good, nbf: now + 600 },
  ]
  for (const claims of wrong)
    assert.equal(await who(kms, bearer(kms.token(claims))), '401', JSON.stringify(claims))
  const stranger = otherIssuer(kms.home, 'stranger')
  for (const token of [stranger.token(good), `${kms.token(good).slice(0, -4)}AAAA`, 'a.b.c', 'x', '']) {
    assert.equal(await who(kms, bearer(token)), '401')
  }
  assert.equal(await who(kms, {}), '401')
})

test('a token that was accepted is refused when it has expired', async () => {
  let now = Date.now()
  await using kms = await startKms({ clock: { now: () => now, monotonic: () => now } })
  const token = kms.token({ sub: 'alice' })
  assert.equal(await who(kms, bearer(token)), 'alice')
  now += 700_000
  assert.equal(await who(kms, bearer(token)), '401')
})

test('a session token without an audience counts as the realm that the settings name, else as none', async () => {
  // Other servers' session tokens have no aud.
  const peer = { sub: 'alice', aud: undefined, as_rid: 'r1', roles: ['x'] }
  await using strict = await startKms()
  assert.equal(await who(strict, bearer(strict.token(peer))), '401', 'deny by default')
  for (const realm of [{}, { auth_verifier_realm: 'r1' }]) {
    await using kms = await startKms({ config: { ...realm, auth_verifier_realm_without_aud: 'r1' } })
    const alice = 'auth_verifier_realm' in realm ? 'alice' : 'r1/alice'
    assert.equal(await who(kms, bearer(kms.token(peer))), alice)
    assert.equal(await who(kms, bearer(kms.token({ ...peer, as_rid: undefined }))), alice)
    assert.equal(await who(kms, bearer(kms.token({ ...peer, as_rid: 'r2' }))), '401')
    assert.equal(await who(kms, bearer(kms.token({ ...peer, aud: null }))), '401')
  }
  const config = { auth_verifier_realm: 'r2', auth_verifier_realm_without_aud: 'r1' }
  await assert.rejects(startKms({ config }), /auth_verifier_realm_without_aud is r1, and auth_verifier_realm/)
})

test('several issuers, each with its own keys; an address counts only when it is verified', async () => {
  await using first = await startKms()
  const one = otherIssuer(first.home, 'one')
  const two = otherIssuer(first.home, 'two')
  await using kms = await startKms({
    tokens: false,
    config: { jwt_auth_provider: [`https://one.test,${one.file}`, `https://two.test,${two.file},kms,other`] },
  })
  const claims = { iss: 'https://one.test', sub: 'u1' }
  assert.equal(await who(kms, bearer(one.token(claims))), 'u1')
  assert.equal(
    await who(kms, bearer(one.token({ ...claims, email: 'a@b.test', email_verified: true }))),
    'a@b.test',
  )
  assert.equal(await who(kms, bearer(one.token({ ...claims, email: 'a@b.test' }))), 'u1')
  assert.equal(await who(kms, bearer(two.token({ iss: 'https://two.test', sub: 'u2', aud: 'kms' }))), 'u2')
  assert.equal(await who(kms, bearer(two.token({ iss: 'https://two.test', sub: 'u2' }))), '401')
  assert.equal(await who(kms, bearer(two.token(claims))), '401')
  assert.equal(await who(kms, bearer(one.token({ iss: 'https://three.test', sub: 'u1' }))), '401')
})

test('workload tokens: the subject is the identity, in its trust domain and for this audience only', async () => {
  await using first = await startKms()
  const domain = otherIssuer(first.home, 'domain')
  await using kms = await startKms({
    tokens: false,
    config: { jwt_auth_provider: [`spiffe://prod.test,${domain.file},warder`] },
  })
  const sub = 'spiffe://prod.test/billing'
  assert.equal(await who(kms, bearer(domain.token({ sub, aud: ['warder'] }))), sub)
  assert.equal(await who(kms, bearer(domain.token({ sub }))), '401')
  assert.equal(await who(kms, bearer(domain.token({ sub, aud: 'other' }))), '401')
  assert.equal(
    await who(kms, bearer(domain.token({ sub: 'spiffe://prod.test.evil/x', aud: 'warder' }))),
    '401',
  )
})

test('a provider that cannot work stops the start', async () => {
  for (const text of [
    ',x',
    'spiffe://d',
    'spiffe://d,https://k.test/',
    'https://i.test,http://k.test',
    'https://i.test,file:/nowhere',
  ]) {
    await assert.rejects(startKms({ tokens: false, config: { jwt_auth_provider: [text] } }), {
      name: 'StartupError',
    })
  }
  // The line says what is wrong with the file, not only that something is.
  await assert.rejects(
    startKms({ tokens: false, config: { jwt_auth_provider: ['https://i.test,file:/nowhere'] } }),
    /^StartupError: jwt_auth_provider: the key set \/nowhere cannot be read: .*ENOENT/,
  )
  await assert.rejects(
    startKms({ config: { force_default_username: true, 'roles.crypto_officer_users': ['x'] } }),
    { name: 'StartupError' },
  )
})

test('an audience is no issuer, wherever the provider is configured', () => {
  const provider = 'https://idp,https://idp/keys,https://kms'
  const file = join(mkdtempSync(join(tmpdir(), 'warder-providers-')), 'kms.toml')
  const read = (env: Readonly<Record<string, string>>, args: readonly string[]) =>
    loadConfig({ service: 'kms', table: kmsSettings, file, env, args }).values.jwt_auth_provider
  try {
    assert.deepEqual(read({ KMS_JWT_AUTH_PROVIDER: provider }, []), [provider])
    assert.deepEqual(read({ KMS_JWT_AUTH_PROVIDER: `${provider};https://two` }, []), [
      provider,
      'https://two',
    ])
    assert.deepEqual(read({}, ['--jwt-auth-provider', provider]), [provider])
    writeFileSync(file, `jwt_auth_provider = ["${provider}"]\n`)
    assert.deepEqual(read({}, []), [provider])
  } finally {
    rmSync(dirname(file), { recursive: true })
  }
})

test('this service is no issuer of its own callers: anybody may sign with its keys', async () => {
  for (const provider of [
    'https://localhost',
    'https://LOCALHOST:443/x,file:jwks.json',
    'https://127.0.0.1',
    'https://idp.test,https://localhost/.well-known/jwks.json,kms',
    'https://kms.test,file:jwks.json',
    'https://idp.test, https://kms.test/.well-known/jwks.json',
  ]) {
    const config = { jwt_auth_provider: [provider], kms_public_url: 'https://kms.test/' }
    await assert.rejects(startKms({ config }), {
      name: 'StartupError',
      message: /^jwt_auth_provider: .* is this service/,
    })
  }
  const config = { jwt_auth_provider: ['https://localhost:8443,file:jwks.json,https://localhost'] }
  await using kms = await startKms({ config })
  assert.equal(await who(kms, {}), '401')
})

test('this service does not verify session tokens by its own keys: its callers would write them', async () => {
  const own = [
    { auth_verifier_url: 'https://localhost' },
    { auth_verifier_url: 'https://[::1]:443/' },
    { auth_verifier_url: 'https://warder.test/kms/' },
    { auth_verifier_url: 'https://auth.test', auth_verifier_jwks: 'https://127.0.0.1/.well-known/jwks.json' },
    { auth_verifier_jwks: 'https://WARDER.test/x/../kms/.well-known/jwks.json?x' },
  ]
  const kms_public_url = 'https://warder.test/kms'
  for (const config of own) {
    await assert.rejects(startKms({ tokens: false, config: { kms_public_url, ...config } }), {
      name: 'StartupError',
      message: /^auth_verifier_(url|jwks): https:.* is this service/,
    })
  }
  // Beside it on this machine, and behind the same proxy, is the authentication service.
  for (const auth_verifier_url of ['https://localhost:8443', 'https://warder.test/auth']) {
    await using kms = await startKms({ tokens: false, config: { kms_public_url, auth_verifier_url } })
    assert.equal(await who(kms, {}), '401')
  }
})

test('a client certificate is its common name; without one the next method is asked', async () => {
  await using kms = await startKms({ clientCertificates: true })
  assert.equal((await kms.certified().get('/me')).json.user, 'kmip-client')
  assert.equal(await who(kms, bearer(kms.token({ sub: 'alice' }))), 'alice')
  assert.equal(await who(kms, {}), '401')
})

test('force_default_username makes everybody the default user, after authentication', async () => {
  await using kms = await startKms({ config: { force_default_username: true } })
  assert.equal(await who(kms, bearer(kms.token({ sub: 'alice' }))), 'admin')
  assert.equal(await who(kms, {}), '401')
})

/** An authentication service that answers look-ups of app tokens as the test wants. */
async function startLookups(home: string) {
  const tls = (name: string) => readFileSync(join(home, 'tls', name))
  const answers = new Map<string, (response: ServerResponse) => void>()
  const server = createServer({ cert: tls('auth.crt'), key: tls('auth.key') }, (request, response) => {
    const token = String(request.headers['x-secret-token'])
    if (request.url !== '/auth/token/lookup-self') response.writeHead(404).end()
    else (answers.get(token) ?? ((refusal) => refusal.writeHead(403).end('{}')))(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `https://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    answers,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

test('tokens of machines on the live service: the API token is the bytes of a key, an app token what the peer says of it, and neither is anybody else', async () => {
  await using first = await startKms()
  const lookups = await startLookups(first.home)
  const bytes = randomBytes(32)
  const admin = first.user('admin')
  const k = bytes.toString('base64url')
  const { kid } = (await admin.post('/v1/crypto/keys', { kty: 'oct', alg: 'HS256', k })).json
  try {
    const { db, seal } = first.environment
    await using kms = await startKms({
      db,
      seal,
      tokens: false,
      config: {
        api_token_id: kid,
        vault_auth_verifier_url: lookups.url,
        auth_verifier_ca_cert: join(first.home, 'tls/ca.crt'),
        cache_lease_ms: 0,
      },
    })
    const method = () => kms.audit.at(-1)?.auth_method
    const token = bytes.toString('base64')
    assert.deepEqual([await who(kms, bearer(token)), method()], ['admin', 'api_token'])
    const swapped = token.replace(/[a-zA-Z]/, (letter) =>
      letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
    )
    const others = [
      swapped,
      token.slice(0, -2),
      `${token}=`,
      k,
      '%%%',
      randomBytes(32).toString('base64'),
      kid,
    ]
    for (const wrong of others) assert.equal(await who(kms, bearer(wrong)), '401', wrong)
    assert.deepEqual([kms.audit.at(-1)?.principal, kms.audit.at(-1)?.outcome], ['unauthenticated', 'failure'])

    const app = (text: string) => who(kms, { 'x-secret-token': text })
    const says = (entity: unknown) => (response: ServerResponse) =>
      response.writeHead(200).end(JSON.stringify({ data: { entity_id: entity } }))
    lookups.answers.set('wt.good', says('billing'))
    assert.deepEqual([await app('wt.good'), method()], ['app:billing', 'app_token'])
    // As a bearer token, too, in its place of the order: beside another credential it is the one that counts.
    assert.deepEqual([await who(kms, bearer('wt.good')), method()], ['app:billing', 'app_token'])
    assert.equal(await who(kms, { 'x-secret-token': 'wt.good', ...bearer('wt.good') }), 'app:billing')
    for (const wrong of ['wt.unknown', 'wt.', 'wt.good.more', 'WT.good', 'x'.repeat(1025)])
      assert.equal(await who(kms, bearer(wrong)), '401', wrong)
    assert.equal(await who(kms, { 'x-secret-token': 'wt.good', ...bearer('wt.unknown') }), '401')
    assert.equal(await who(kms, { 'x-secret-token': 'wt.good', ...bearer(token) }), 'app:billing')
    // The peer's word makes nobody an administrator, another kind of machine, or everybody (F-004).
    lookups.answers.set('wt.admin', says('admin'))
    assert.equal(await app('wt.admin'), 'app:admin')
    const lies: Readonly<Record<string, readonly [(response: ServerResponse) => void, string]>> = {
      'wt.blank': [says('billing '), '401'],
      'wt.hidden': [says('bil\u200bling'), '401'],
      'wt.list': [says(['billing']), '401'],
      'wt.nothing': [(response) => response.writeHead(200).end('{}'), '401'],
      'wt.text': [(response) => response.writeHead(200).end('billing'), '503'],
      'wt.created': [(response) => response.writeHead(201).end('{"data":{"entity_id":"billing"}}'), '503'],
      'wt.moved': [(response) => response.writeHead(302, { location: lookups.url }).end(), '503'],
      'wt.broken': [(response) => response.destroy(), '503'],
      'wt.huge': [(response) => response.writeHead(200).end(Buffer.alloc(2 ** 21, ' ')), '503'],
    }
    for (const [text, [lie, status]] of Object.entries(lies)) {
      lookups.answers.set(text, lie)
      assert.equal(await app(text), status, text)
    }
    for (const unknown of ['wt.unknown', 'x'.repeat(1025), '']) assert.equal(await app(unknown), '401')
    assert.equal(await who(kms, { 'x-secret-token': 'wt.unknown', ...bearer(token) }), '401')
    assert.ok(!/wt\.(good|huge|unknown)/.test(`${kms.log.join()}${JSON.stringify(kms.audit)}`))

    // The token dies with its key, in whatever way the key ends.
    await admin.del(`/v1/crypto/keys/${kid}`)
    assert.equal(await who(kms, bearer(token)), '401')
    assert.equal(await app('wt.good'), 'app:billing')
  } finally {
    lookups.close()
  }
})

test('the API token is a key of the user that it stands for, or of an officer: a key of another principal under its id is none', async () => {
  const officer = 'ophelia'
  const imports = async (kms: Started, name: string) => {
    const bytes = randomBytes(32)
    await kmipClient(kms.user(name)).do('Import', [
      uid('the-token'),
      objectType('SymmetricKey'),
      attributes(mask('Encrypt'), activeSince),
      aesKey(bytes),
    ])
    return bytes.toString('base64')
  }
  for (const [name, stands] of [
    ['mallory', '401'],
    ['admin', 'admin'],
    [officer, 'admin'],
  ] as const) {
    await using kms = await startKms({
      config: { api_token_id: 'the-token', 'roles.crypto_officer_users': [officer] },
    })
    const allowed = { user_id: name, operation_types: ['create'] }
    await kms.user(officer).post('/access/grant', allowed)
    const token = await imports(kms, name)
    assert.equal(await who(kms, bearer(token)), stands, name)
    assert.equal((await kms.user(name).del('/v1/crypto/keys/the-token')).status, 204)
    assert.equal(await who(kms, bearer(token)), '401')
    // The identifier of the removed key stays its owner's (docs/adr/identifiers-and-aliases.md).
    if (name === 'mallory') await assert.rejects(imports(kms, officer), /ObjectAlreadyExists/)
  }
})

test('the API token is a symmetric key of any algorithm; one whose bytes are not here lets nobody in', async () => {
  await using kms = await startKms({ config: { api_token_id: 'the-token' } })
  const admin = kms.user('admin')
  const client = kmipClient(admin)
  const imports = (key: TtlvNode) =>
    client.do('Import', [
      uid('the-token'),
      objectType('SymmetricKey'),
      attributes(mask('Encrypt'), activeSince),
      key,
    ])
  const asks = (bytes: Uint8Array) => who(kms, bearer(Buffer.from(bytes).toString('base64')))
  for (const [name, size] of [
    ['ChaCha20', 32],
    ['DES3', 24],
  ] as const) {
    const bytes = randomBytes(size)
    await imports(structure(Tag.SymmetricKey, [keyBlock('Raw', bytes, ...keyOf(name, size * 8))]))
    assert.deepEqual([await asks(bytes), await asks(randomBytes(size))], ['admin', '401'], name)
    assert.equal((await admin.del('/v1/crypto/keys/the-token')).status, 204)
  }
  const kek = await client.do('Register', [
    objectType('SymmetricKey'),
    attributes(mask('WrapKey', 'UnwrapKey'), activeSince),
    aesKey(randomBytes(32)),
  ])
  const bytes = randomBytes(32)
  const inClear = await client.do('Register', [
    objectType('SymmetricKey'),
    attributes(mask('Encrypt'), activeSince),
    aesKey(bytes),
  ])
  const wrapping = structure(Tag.KeyWrappingSpecification, [
    enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
    structure(Tag.EncryptionKeyInformation, [uid(kek.id)]),
  ])
  const wrapped = (await client.do('Get', [uid(inClear.id), wrapping])).nodes[2]
  assert.ok(wrapped)
  await imports(wrapped)
  assert.deepEqual([await asks(bytes), await asks(randomBytes(32))], ['401', '401'])
})

test('an app token is looked up once in its time, and what cannot be looked up is not let in', async () => {
  let now = 0
  let asked = 0
  let answer: { readonly status: number; readonly body: string } | undefined
  const outbound: Outbound = {
    async get(url, options) {
      asked++
      assert.equal(url, 'https://auth.test/auth/token/lookup-self')
      assert.equal(options?.headers?.['X-Secret-Token'], 'wt.abc')
      if (answer === undefined) throw new Error('unreachable')
      return { status: answer.status, headers: {}, body: Buffer.from(answer.body) }
    },
    post: () => assert.fail(),
    delete: () => assert.fail(),
  }
  const clock = { now: () => now, monotonic: () => now }
  const extract = appToken({ url: 'https://auth.test/', outbound, clock, ttlSeconds: 30 })
  const ask = async () => extract(requestWith({ 'x-secret-token': 'wt.abc' }))
  assert.equal(await extract(requestWith({})), undefined)
  await assert.rejects(ask(), { kind: 'overloaded' })
  for (const status of [500, 302]) {
    answer = { status, body: '' }
    await assert.rejects(ask(), { kind: 'overloaded' })
  }
  for (const body of ['{"data":{"entity_id":""}}', '{"data":{}}']) {
    answer = { status: 200, body }
    await assert.rejects(ask(), { kind: 'unauthorized' })
  }
  answer = { status: 403, body: '' }
  await assert.rejects(ask(), { kind: 'unauthorized' })
  answer = { status: 200, body: '{"data":{"entity_id":"billing"}}' }
  asked = 0
  const names = await Promise.all([ask(), ask(), ask()])
  assert.deepEqual(
    names.map((one) => one?.name),
    ['app:billing', 'app:billing', 'app:billing'],
  )
  now = 29_999
  await ask()
  assert.equal(asked, 1)
  answer = { status: 403, body: '' }
  now = 30_000
  await assert.rejects(ask(), { kind: 'unauthorized' })
  // An answer is not believed beyond the end of the token that it names; 0 is a token without an end.
  answer = { status: 200, body: '{"data":{"entity_id":"billing","ttl":2}}' }
  await ask()
  answer = { status: 403, body: '' }
  now = 31_999
  await ask()
  now = 32_000
  await assert.rejects(ask(), { kind: 'unauthorized' })
  answer = { status: 200, body: '{"data":{"entity_id":"billing","ttl":0}}' }
  await ask()
  asked = 0
  now = 61_999
  await ask()
  assert.equal(asked, 0)
  await assert.rejects(async () => extract(requestWith({ 'x-secret-token': 'a', 'x-vault-token': 'b' })), {
    kind: 'unauthorized',
  })
  await assert.rejects(async () => extract(requestWith({ 'x-secret-token': 'a b' })), {
    kind: 'unauthorized',
  })
})

test('every request with an app token of few uses is one use, and bound addresses hold', async () => {
  let uses = 3
  let told: Readonly<Record<string, string>> | undefined
  let data: object = {}
  const outbound: Outbound = {
    async get(_url, options) {
      told = options?.headers
      await new Promise((resolve) => setImmediate(resolve))
      if (uses-- <= 0) return { status: 403, headers: {}, body: Buffer.alloc(0) }
      const answer = { data: { entity_id: 'billing', num_uses: uses || -1, ...data } }
      return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(answer)) }
    },
    post: () => assert.fail(),
    delete: () => assert.fail(),
  }
  const clock = { now: () => 0, monotonic: () => 0 }
  const peerSecret = Secret.fromText('the secret of the installation')
  const extract = appToken({ url: 'https://auth.test/', outbound, clock, ttlSeconds: 30, peerSecret })
  const ask = async (clientAddress = '192.0.2.1') =>
    extract({ ...requestWith({ 'x-secret-token': 'wt.abc' }), clientAddress })
  const answers = await Promise.allSettled(Array.from({ length: 9 }, () => ask()))
  assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 3)
  assert.deepEqual(
    [told?.['X-Forwarded-For'], told?.['x-warder-peer']],
    ['192.0.2.1', 'the secret of the installation'],
  )
  await assert.rejects(ask(), { kind: 'unauthorized' })
  uses = 2
  const large = requestWith({ 'x-secret-token': 'wt.abc' })
  await extract(large)
  await extract(large)
  assert.equal(uses, 1, 'authenticated twice for its head and its body, a request is one use')

  uses = 1
  data = { num_uses: 0, bound_cidrs: ['192.0.2.0/24', '2001:db8::/32'] }
  assert.equal((await ask())?.name, 'app:billing')
  const hidden = { clientAddress: '192.0.2.1', isAddressKnown: false }
  await assert.rejects(async () => extract({ ...requestWith({ 'x-secret-token': 'wt.abc' }), ...hidden }), {
    kind: 'unauthorized',
  })
  assert.equal((await ask('2001:db8::9'))?.name, 'app:billing', 'as it is remembered')
  await assert.rejects(ask('198.51.100.1'), { kind: 'unauthorized' })
  assert.equal(uses, 0)
  for (const bound_cidrs of ['192.0.2.0/24', [1], ['everywhere']]) {
    data = { num_uses: 0, bound_cidrs }
    uses = 1
    const other = appToken({ url: 'https://auth.test/', outbound, clock, ttlSeconds: 30 })
    await assert.rejects(async () => other(requestWith({ 'x-secret-token': 'wt.abc' })), {
      kind: 'unauthorized',
    })
    assert.equal(told?.['x-warder-peer'], undefined)
  }
})

test('an authentication service that cannot be reached lets nobody in', async () => {
  const closed = createServer()
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
  const address = closed.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  await new Promise((resolve) => closed.close(resolve))
  await using kms = await startKms({
    tokens: false,
    config: { auth_verifier_url: `https://127.0.0.1:${port}` },
  })
  assert.equal(await who(kms, bearer(kms.token({ sub: 'alice' }))), '401')
  assert.equal(await who(kms, {}), '401')
})

test('a name that could be mistaken for another is no name', () => {
  for (const name of ['', '*', ' a', 'a\n', 'a\u202e', 'x'.repeat(257), 'a\ud800', 'app:x', 'spiffe://x']) {
    assert.throws(() => principalNamed(name, 'jwt_auth'), { kind: 'unauthorized' }, JSON.stringify(name))
  }
  assert.equal(principalNamed('app:x', 'app_token').name, 'app:x')
})
