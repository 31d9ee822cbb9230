import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createOutbound } from '@warder/outbound'
import { decodeJwt, importJWK, jwtVerify } from 'jose'
import { type IssuerServer, startIssuers } from '../testing/issuers.ts'
import { administrator, dataKey, type GoogleWorld, signingKid, startGoogle } from './testing/world.ts'
import { resourceKeyHash } from './wrap-operations.ts'

/**
 * Two key services: `old` has the keys, `fresh` gets them. A gate with an address that is known before either starts
 * hands requests on to them, as a reverse proxy would.
 */
interface Gate extends AsyncDisposable {
  readonly url: string
  serve(
    home: string,
    handler: (path: string, body: string) => Promise<{ status: number; text: string }>,
  ): void
}

async function startGate(): Promise<Gate> {
  let handler = async (_path: string, _body: string) => ({ status: 503, text: '{}' })
  const server = createServer({}, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      void handler(request.url ?? '', Buffer.concat(chunks).toString()).then(({ status, text }) => {
        response.writeHead(status, {
          'content-type': 'application/json',
          ...(status === 302 && { location: 'https://127.0.0.1:1/' }),
        })
        response.end(text)
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/google_cse`,
    serve(home, next) {
      const pem = (name: string) => readFileSync(join(home, 'tls', name))
      server.setSecureContext({ cert: pem('kms.crt'), key: pem('kms.key') })
      handler = next
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const whitelist = 'google_cse_config.google_cse_incoming_url_whitelist'
const stack = new AsyncDisposableStack()
let issuers: IssuerServer
let old: GoogleWorld
let fresh: GoogleWorld
let oldGate: Gate
let freshGate: Gate

before(async () => {
  issuers = stack.use(await startIssuers())
  oldGate = stack.use(await startGate())
  freshGate = stack.use(await startGate())
  const start = (gate: Gate, peer: Gate) =>
    startGoogle({ issuers, url: gate.url, config: { [whitelist]: [peer.url] } })
  old = stack.use(await start(oldGate, freshGate))
  fresh = stack.use(await start(freshGate, oldGate))
  open(oldGate, old)
  open(freshGate, fresh)
})
after(() => stack.disposeAsync())

function open(gate: Gate, { kms }: GoogleWorld): void {
  const anonymous = kms.with({})
  gate.serve(kms.home, (path, body) =>
    anonymous.call(body === '' ? 'GET' : 'POST', path, body === '' ? {} : { text: body }),
  )
}

const migrator = (world: GoogleWorld, claims = {}) =>
  world.authorization({ role: 'migrator', ...claims }, { application: 'migration' })
const verifier = (world: GoogleWorld, claims = {}) =>
  world.authorization({ role: 'verifier', ...claims }, { application: 'migration' })

async function wrappedBy(world: GoogleWorld): Promise<string> {
  return (await world.post('wrap', { ...(await world.tokens()), key: dataKey })).json.wrapped_key
}

async function move(to: GoogleWorld, members: Record<string, unknown>) {
  return to.post('rewrap', {
    authorization: await migrator(to),
    original_kacls_url: oldGate.url,
    reason: '{client:"drive" op:"migrate"}',
    wrapped_key: await wrappedBy(old),
    ...members,
  })
}

test('a key is moved, its digest stays, and it opens here; and back again', async () => {
  for (const [from, to, gate] of [
    [old, fresh, oldGate],
    [fresh, old, freshGate],
  ] as const) {
    const wrapped_key = await wrappedBy(from)
    const before = await from.post('digest', { authorization: await verifier(from), wrapped_key })
    assert.equal(before.status, 200, before.text)
    assert.equal(
      before.json.resource_key_hash,
      resourceKeyHash(Buffer.from(dataKey, 'base64'), 'item123', ''),
    )
    const moved = await move(to, { wrapped_key, original_kacls_url: gate.url })
    assert.equal(moved.status, 200, moved.text)
    assert.deepEqual(Object.keys(moved.json).sort(), ['resource_key_hash', 'wrapped_key'])
    assert.equal(moved.json.resource_key_hash, before.json.resource_key_hash)
    const after = await to.post('digest', {
      authorization: await verifier(to),
      wrapped_key: moved.json.wrapped_key,
    })
    assert.equal(after.json.resource_key_hash, before.json.resource_key_hash)
    const opened = await to.post('unwrap', {
      ...(await to.tokens({ perimeter_id: 'any' })),
      wrapped_key: moved.json.wrapped_key,
    })
    assert.equal(opened.json.key, dataKey)
    assert.equal((await to.post('unwrap', { ...(await to.tokens()), wrapped_key })).status, 400)
  }
  const given = fresh.kms.audit.find(({ operation }) => operation === 'google_cse.privilegedunwrap')
  assert.equal(given?.principal, `google:${oldGate.url}`)
  assert.equal(given?.details?.key_service, oldGate.url)
  assert.equal(given?.details?.reason, '{client:"drive" op:"migrate"}')
})

test('what this service sends is a token of five minutes for one resource, which its certs verify', async () => {
  let sent = ''
  oldGate.serve(old.kms.home, async (_path, body) => {
    sent = body
    return { status: 200, text: JSON.stringify({ key: dataKey }) }
  })
  try {
    assert.equal((await move(fresh, { wrapped_key: 'AAAA' })).status, 200)
  } finally {
    open(oldGate, old)
  }
  const { authentication, ...rest } = JSON.parse(sent)
  assert.deepEqual(rest, {
    reason: '{client:"drive" op:"migrate"}',
    resource_name: 'item123',
    wrapped_key: 'AAAA',
  })
  const { iat, exp, ...claims } = decodeJwt(authentication)
  assert.deepEqual(claims, {
    iss: freshGate.url,
    aud: 'kacls-migration',
    kacls_url: oldGate.url,
    resource_name: 'item123',
  })
  assert.equal(Number(exp) - Number(iat), 300)
  const { keys } = (await fresh.get('certs')).json
  assert.equal(keys.length, 1)
  assert.deepEqual(Object.keys(keys[0]).sort(), ['alg', 'e', 'kid', 'kty', 'n', 'use'])
  await jwtVerify(authentication, await importJWK(keys[0], 'RS256'), {
    issuer: freshGate.url,
    audience: 'kacls-migration',
  })
})

test('a key service opens only the resource of its token, only here, and only while it is allowed', async () => {
  const own = 'own signing key'
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: freshGate.url,
    aud: 'kacls-migration',
    kacls_url: oldGate.url,
    resource_name: 'item123',
    iat: now,
    exp: now + 60,
  }
  const ask = async (changed: object, body: object = {}, signer = own) => {
    const authentication = await old.authentication(
      { email: undefined, ...claims, ...changed },
      { signer, header: { kid: signingKid } },
    )
    const wrapped_key = await wrappedBy(old)
    return (
      await old.post('privilegedunwrap', { authentication, resource_name: 'item123', wrapped_key, ...body })
    ).status
  }
  assert.equal(await ask({}), 200)
  const refused: readonly (readonly [string, object, number])[] = [
    ['another resource', { resource_name: 'item124' }, 403],
    ['no resource', { resource_name: undefined }, 401],
    ['another audience', { aud: 'cse' }, 401],
    ['the audience of delegation', { aud: 'kacls-delegation' }, 401],
    ['to another key service', { kacls_url: 'https://third.example.com' }, 401],
    ['expired', { exp: now - 120 }, 401],
    ['a key service that is not allowed', { iss: 'https://third.example.com/google_cse' }, 401],
    ['this service itself', { iss: oldGate.url }, 401],
  ]
  for (const [name, changed, status] of refused) assert.equal(await ask(changed), status, name)
  assert.equal(
    await ask({ resource_name: 'item124' }, { resource_name: 'item124' }),
    400,
    'wrapped for another',
  )
  assert.equal(await ask({}, {}, 'evil'), 401)
})

test('keys are moved from allowed key services alone', async () => {
  const asked = old.kms.audit.length
  const urls = [
    'https://third.example.com/google_cse',
    `${oldGate.url}/..`,
    `${oldGate.url}x`,
    `${oldGate.url}?`,
    `${oldGate.url}#`,
    oldGate.url.replace('https:', 'http:'),
    oldGate.url.replace('https://', 'https://user:pass@'),
    oldGate.url.replace('127.0.0.1', 'localhost'),
    'file:///etc/passwd',
    '',
  ]
  const wrapped_key = 'AAAA'
  for (const original_kacls_url of urls)
    assert.equal((await move(fresh, { wrapped_key, original_kacls_url })).status, 403, original_kacls_url)
  assert.ok(!old.kms.audit.slice(asked).some(({ operation }) => operation === 'google_cse.privilegedunwrap'))
  assert.equal(
    (await move(fresh, { wrapped_key: undefined, original_kacls_url: `${oldGate.url}/` })).status,
    400,
  )
})

const guarded: readonly (readonly [string, string])[] = [
  ['loopback', 'https://127.0.0.1:9443'],
  ['loopback in one number', 'https://2130706433'],
  ['loopback of IPv6', 'https://[::1]:9443'],
  ['IPv4 in IPv6', 'https://[::ffff:127.0.0.1]'],
  ['private IPv4', 'https://10.1.2.3'],
  ['private IPv4', 'https://192.168.0.10'],
  ['private IPv6', 'https://[fd00::1]'],
  ['link-local', 'https://169.254.169.254'],
  ['link-local of IPv6', 'https://[fe80::1]'],
  ['nowhere', 'https://0.0.0.0'],
  ['a name of a private address', 'https://private.example'],
  ['a name of a public and a private address', 'https://both.example'],
  ['localhost', 'https://localhost'],
]

test('an allowed key service whose address is not public is not asked, also when its name turns out to be one', async () => {
  const addresses: Readonly<Record<string, readonly LookupAddress[]>> = {
    'private.example': [{ address: '10.9.8.7', family: 4 }],
    'both.example': [
      { address: '93.184.216.34', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ],
    localhost: [{ address: '127.0.0.1', family: 4 }],
  }
  const outbound = createOutbound({
    proxy: undefined,
    allowPrivateNetworks: false,
    timeoutMs: 1000,
    resolve: async (name) => addresses[name] ?? [],
  })
  // Key sets come over another client: the issuers of this test are on the loopback address.
  const fetching = fresh.kms.environment.outbound
  await using strict = await startGoogle({
    issuers,
    url: freshGate.url,
    outbound: { ...fetching, get: fetching.get, post: outbound.post },
    config: { [whitelist]: guarded.map(([, url]) => url) },
  })
  for (const [name, original_kacls_url] of guarded) {
    const answer = await strict.post('rewrap', {
      authorization: await migrator(strict),
      original_kacls_url,
      wrapped_key: 'AAAA',
    })
    assert.equal(answer.status, 403, `${name}: ${answer.text}`)
    assert.equal(
      answer.json.message,
      'original_kacls_url: requests to this key service are not permitted.',
      name,
    )
    assert.ok(!answer.text.includes('10.9.8.7'), 'what a name leads to is not told')
  }
})

test('a name is resolved once for a request: what was checked is what is connected to', async () => {
  const fetching = fresh.kms.environment.outbound
  const named = oldGate.url.replace('127.0.0.1', 'localhost')
  let resolved = 0
  for (const allowPrivateNetworks of [true, false]) {
    const outbound = createOutbound({
      proxy: undefined,
      allowPrivateNetworks,
      caFile: join(old.kms.home, 'tls', 'ca.crt'),
      // A name whose second answer is another address than its first one.
      resolve: async () => {
        resolved += 1
        return [{ address: resolved % 2 === 1 ? '127.0.0.1' : '127.255.255.254', family: 4 }]
      },
    })
    await using other = await startGoogle({
      issuers,
      url: freshGate.url,
      outbound: { ...fetching, get: fetching.get, post: outbound.post },
      config: { [whitelist]: [named] },
    })
    oldGate.serve(old.kms.home, async () => ({ status: 200, text: JSON.stringify({ key: dataKey }) }))
    const answer = await move(other, { wrapped_key: 'AAAA', original_kacls_url: named })
    open(oldGate, old)
    assert.equal(answer.status, allowPrivateNetworks ? 200 : 403, answer.text)
    assert.equal(resolved, 1, 'one answer for one request')
    resolved = 0
  }
})

test('an original key service that redirects, fails or answers nonsense gives no key', async () => {
  const answers: readonly (readonly [number, string, number])[] = [
    [302, '', 403],
    [403, '{"code":403,"message":"no","details":""}', 403],
    [500, '', 403],
    [200, 'not JSON', 503],
    [200, '{"key":7}', 503],
    [200, '{"key":"a_b"}', 400],
    [200, `{"key":"${Buffer.alloc(200).toString('base64')}"}`, 400],
    [200, `{"key":"AAAA","x":"${'x'.repeat(2_000_000)}"}`, 503],
  ]
  try {
    for (const [status, text, expected] of answers) {
      oldGate.serve(old.kms.home, async () => ({ status, text }))
      const answer = await move(fresh, { wrapped_key: 'AAAA' })
      assert.equal(answer.status, expected, `${status} ${text.slice(0, 40)} ${answer.text}`)
    }
  } finally {
    open(oldGate, old)
  }
})

test('the token of an administrator does not move keys, and that of Google for moving opens none', async () => {
  const wrapped_key = await wrappedBy(old)
  const authentication = await migrator(old)
  const answer = await old.post('privilegedunwrap', { authentication, resource_name: 'item123', wrapped_key })
  assert.equal(answer.status, 401)
  const authorization = await old.authentication({ email: administrator })
  assert.equal((await move(fresh, { authorization })).status, 401)
})

test('what Google alone authorises needs the domain of the owner, or an address in it', async () => {
  await using world = await startGoogle()
  const { wrapped_key } = (await world.post('wrap', { ...(await world.tokens()), key: dataKey })).json
  const digest = async (claims: object) => {
    const token = { role: 'verifier', ...claims }
    const authorization = await world.authorization(token, { application: 'migration' })
    return (await world.post('digest', { authorization, wrapped_key })).status
  }
  const none = { kacls_owner_domain: undefined }
  assert.equal(await digest({}), 200)
  assert.equal(await digest({ email: 'zoe@other.example' }), 200, 'the domain is named')
  assert.equal(await digest(none), 200, 'an address of the owner')
  assert.equal(await digest({ ...none, email: 'zoe@other.example' }), 403)
  assert.equal(await digest({ ...none, email: 'zoe@sub.example.com' }), 403)
  assert.equal(await digest({ kacls_owner_domain: 'other.example' }), 401)
  // With the token of a provider of the owner beside it Google may leave the claim out.
  assert.equal((await world.post('wrap', { ...(await world.tokens(none)), key: dataKey })).status, 200)
})
