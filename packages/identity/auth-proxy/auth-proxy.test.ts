import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { type Started, startKms } from '@warder/kms/testing'

interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Stands in for the authentication service: it notes each request and answers as the test wants. */
const seen: Seen[] = []
const answered = (response: ServerResponse): void => {
  response
    .writeHead(200, { 'content-type': 'application/json', 'set-cookie': 'a=b', server: 'x' })
    .end('{"ok":1}')
}
let answer = answered
let kms: Started
const opened = new AsyncDisposableStack()

before(async () => {
  const first = opened.use(await startKms())
  const tls = (name: string) => readFileSync(join(first.home, 'tls', name))
  const server = createServer({ cert: tls('auth.crt'), key: tls('auth.key') }, async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method, url, headers } = request
    seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() })
    answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.defer(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const config = {
    vault_api_enabled: true,
    auth_verifier_url: `https://127.0.0.1:${port}`,
    auth_verifier_ca_cert: join(first.home, 'tls', 'ca.crt'),
  }
  kms = opened.use(await startKms({ config }))
})
after(() => opened.disposeAsync())
beforeEach(() => {
  seen.length = 0
  answer = answered
})

test('paths of machines are passed on, with their body and the headers that belong to them, and nothing else', async () => {
  const headers = {
    'x-vault-token': 'hvs.1',
    'content-type': 'application/json',
    authorization: 'Bearer secret',
    cookie: '_ea_=secret',
    'x-forwarded-for': '6.6.6.6',
    'x-warder-peer': 'forged',
    'x-vault-request': 'true',
  }
  const login = await kms
    .with(headers)
    .call('POST', '/v1/auth/approle/login?x=1', { text: '{"role_id":"r"}' })
  assert.deepEqual([login.status, login.json], [200, { ok: 1 }])
  assert.equal(login.headers['set-cookie'], undefined)
  assert.notEqual(login.headers.server, 'x')
  const [request] = seen
  assert.deepEqual(
    [request?.method, request?.url, request?.body],
    ['POST', '/v1/auth/approle/login?x=1', '{"role_id":"r"}'],
  )
  const { host, connection, 'content-length': length, ...rest } = request?.headers ?? {}
  assert.deepEqual(rest, {
    'content-type': 'application/json',
    'x-vault-token': 'hvs.1',
    'x-vault-request': 'true',
    'x-forwarded-for': '127.0.0.1',
    // RFC 7239: the client is behind a proxy that is not trusted here.
    forwarded: 'for=unknown',
  })
  for (const [method, path] of [
    ['PUT', '/v1/auth/kubernetes/login'],
    ['GET', '/v1/auth/token/lookup-self'],
    ['POST', '/v1/auth/token/renew-self'],
    ['PUT', '/v1/auth/token/revoke-self'],
  ] as const)
    assert.equal((await kms.with({ 'x-vault-token': 't' }).call(method, path)).status, 200, path)
  assert.equal(seen.length, 5)
  assert.equal(seen.at(-1)?.headers.forwarded, undefined, 'a client without a proxy is known')
})

test('answers come back as they are: status, body and how long to wait', async () => {
  answer = (response) =>
    response
      .writeHead(429, { 'content-type': 'application/json', 'retry-after': '7' })
      .end('{"errors":["wait"]}')
  const refused = await kms.with({}).post('/v1/auth/approle/login', {})
  assert.deepEqual(
    [refused.status, refused.headers['retry-after'], refused.json],
    [429, '7', { errors: ['wait'] }],
  )
  answer = (response) => response.writeHead(204).end()
  const none = await kms.with({}).call('POST', '/v1/auth/token/revoke-self')
  assert.deepEqual([none.status, none.text], [204, ''])
})

test('nothing else below /v1/auth is passed on: administration, dot segments, backslashes, other methods', async () => {
  const admin = kms.with({ cookie: '_ea_=x', 'x-vault-token': 't' })
  for (const [method, path, status] of [
    ['GET', '/v1/auth/approle/role', 404],
    ['LIST', '/v1/auth/approle/role', 404],
    ['POST', '/v1/auth/approle/role/till', 404],
    ['GET', '/v1/auth/token/lookup-self/', 404],
    ['GET', '/v1/auth/token/lookup%2dself', 404],
    ['POST', '/v1/auth/../admins', 400],
    ['POST', '/v1/auth/%2e%2e/admins', 400],
    ['POST', '/v1/auth/approle/../../login', 400],
    ['POST', '/v1/auth/approle/%2e/login', 400],
    ['POST', '/v1/auth/approle%2f..%2flogin', 400],
    ['POST', '/v1/auth/approle%5clogin', 400],
    ['DELETE', '/v1/auth/token/lookup-self', 405],
    ['GET', '/v1/auth/approle/login', 405],
    ['LIST', '/v1/auth/approle/login', 405],
  ] as const) {
    const { json, status: told } = await admin.call(method, path)
    assert.equal(told, status, `${method} ${path}`)
    assert.equal(json.errors.length, 1, path)
  }
  const large = await admin.call('POST', '/v1/auth/approle/login', { text: `"${'a'.repeat(70_000)}"` })
  assert.equal(large.status, 413)
  assert.deepEqual(seen, [])
})

test('nothing in a query, a header or a path becomes another header, another path or another host', async () => {
  const query = '?x=%0d%0aX-Warder-Peer:%20forged&y=%2f..%2fadmins#z'
  const headers = {
    x_vault_token: 'one',
    'x-vault-token': 'two',
    connection: 'keep-alive, x-forwarded-for',
    'x-forwarded-for': '6.6.6.6',
    'x-forwarded-host': 'evil.example',
    'x-original-url': '/admins',
    'x-http-method-override': 'DELETE',
    'x-vault-wrap-ttl': '1h',
  }
  const login = await kms.with(headers).call('POST', `/v1/auth/approle/login${query}`, { text: '{}' })
  assert.equal(login.status, 200, login.text)
  const [request] = seen
  assert.match(
    request?.url ?? '',
    /^\/v1\/auth\/approle\/login\?x=%0D%0AX-Warder-Peer%3A\+forged&y=%2F\.\.%2Fadmins%23z$/,
  )
  const { host, connection, 'content-length': length, ...rest } = request?.headers ?? {}
  assert.deepEqual(rest, {
    'x-vault-token': 'two',
    'x-forwarded-for': '127.0.0.1',
    forwarded: 'for=unknown',
    'content-type': 'application/json',
  })
  for (const [path, status] of [
    ['//v1/auth/approle/login', 404],
    ['/v1//auth/approle/login', 404],
    ['/v1/auth/approle/login;x=1', 404],
    ['/v1/auth/approle/login%00', 400],
    ['/v1/auth/approle/login?x=%00', 400],
    ['/v1/auth/approle/login%0d%0aX:y', 400],
    ['/V1/AUTH/approle/login', 404],
    ['/v1/auth/@evil.example/login', 404],
  ] as const)
    assert.equal((await kms.with({}).call('POST', path, { text: '{}' })).status, status, path)
  assert.equal(seen.length, 1)
})

test('an authentication service that lies, redirects, floods or hangs up is 502 with a reason', async () => {
  for (const wrong of [
    (response: ServerResponse) => response.writeHead(302, { location: 'https://127.0.0.1/' }).end(),
    (response: ServerResponse) => response.destroy(),
    (response: ServerResponse) => response.writeHead(200).end(Buffer.alloc(1_100_000)),
    // Without an end: it goes on for as long as somebody reads.
    (response: ServerResponse) => {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      }
      response.writeHead(200).on('drain', more)
      more()
    },
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-length': '10' }).write('half')
      response.destroy()
    },
  ]) {
    answer = wrong as typeof answer
    const { status, json } = await kms.with({}).post('/v1/auth/approle/login', {})
    assert.equal(status, 502)
    assert.match(json.errors[0], /did not respond/)
    assert.doesNotMatch(JSON.stringify(json), /127\.0\.0\.1/)
  }
})

test('each request that is passed on is in the audit log; a token is in no log', async () => {
  await kms.with({ 'x-vault-token': 'hvs.secret-token' }).call('GET', '/v1/auth/token/lookup-self')
  const record = kms.audit.findLast(({ operation }) => operation === 'auth_proxy.token.lookup_self')
  assert.equal(record?.outcome, 'success')
  assert.doesNotMatch(JSON.stringify([kms.audit, kms.log]), /secret-token/)
})

test('without vault_api_enabled there is no such path, and with it an address is needed that is another service', async () => {
  await using closed = await startKms()
  assert.equal((await closed.with({}).post('/v1/auth/approle/login', {})).status, 404)
  await assert.rejects(startKms({ config: { vault_api_enabled: true } }), /vault_api_enabled requires/)
  const itself = { vault_api_enabled: true, vault_auth_verifier_url: 'https://localhost' }
  await assert.rejects(startKms({ config: itself }), /would send requests to itself/)
})

test('a start without a rate limit is warned about', () => {
  assert.ok(
    kms.log.some((line) => line.includes('vault_api_enabled forwards logins') && line.includes('rate_limit')),
  )
})
