import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineOperation, get, post } from '../operations/define.ts'
import { live } from './fixtures/live.ts'
import { plainWire, secureWire } from './fixtures/wire.ts'

const define = defineOperation<undefined>()
const anyone = { name: 'public', public: true } as const
const operation = (name: string, route: ReturnType<typeof get>) =>
  define({
    name,
    route,
    summary: name,
    tag: 'test',
    rawBody: true,
    foreignParameters: { names: 'any', because: 'The test looks at the query.' },
    access: anyone,
    reach: [],
    act: (_input, { request }) => ({
      path: request.path,
      query: String(request.query),
      host: request.headers.host,
      bytes: request.body.length,
    }),
  })
const options = {
  services: undefined,
  operations: [
    operation('test.root', get('/')),
    operation('test.hello', get('/hello')),
    operation('test.upload', post('/upload')),
  ],
}

// RFC 9112 §3.2.2
test('an absolute target is served, and its authority takes the place of Host', async () => {
  await using server = await live(options)
  using wire = await secureWire(server.port)
  for (const [target, expected] of [
    ['https://kms.example:9998/hello', { path: '/hello', query: '', host: 'kms.example:9998' }],
    ['HTTPS://a/hello?x=/y?z', { path: '/hello', query: 'x=%2Fy%3Fz', host: 'a' }],
    ['https://[::1]:1/hello', { path: '/hello', query: '', host: '[::1]:1' }],
    ['https://a', { path: '/', query: '', host: 'a' }],
    ['https://a?b', { path: '/', query: 'b=', host: 'a' }],
  ] as const) {
    wire.send(`GET ${target} HTTP/1.1\r\nHost: other.example\r\n\r\n`)
    const { status, body } = await wire.reply()
    assert.equal(status, 200, target)
    assert.deepEqual(JSON.parse(body.toString()), { ...expected, bytes: 0 })
  }
})

test('an absolute target decides which pages are of the same origin, not Host', async () => {
  await using server = await live(options)
  const from = (host: string) =>
    server.raw(
      `POST https://a/upload HTTP/1.1\r\nHost: ${host}\r\nOrigin: https://evil.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
    )
  for (const host of ['a', 'evil.example']) assert.match(await from(host), /^HTTP\/1\.1 403 /)
})

test('an absolute target that is no address of this server, or has no valid authority, is 400', async () => {
  await using server = await live(options)
  for (const method of ['GET', 'POST', 'OPTIONS', 'HEAD']) {
    for (const target of [
      'http://a/hello',
      'HTTP://a/hello',
      'http://a',
      'ftp://a/hello',
      'x:/hello',
      'hello',
      'https://user@a/hello',
      'https://user:secret@a/hello',
      'https:///hello',
      'https://:443/hello',
      'https://a:b/hello',
      'https://a:65536/hello',
      'https://[::1/hello',
      'https://a%zz/hello',
      'https://a/hello#b',
    ]) {
      const answer = await server.raw(
        `${method} ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nOrigin: https://a\r\nAccess-Control-Request-Method: GET\r\n\r\n`,
      )
      assert.match(answer, /^HTTP\/1\.1 400 /, `${method} ${target}`)
    }
  }
})

test('an absolute target needs one Host as any other does', async () => {
  await using server = await live(options)
  for (const hosts of ['', 'Host: a\r\nHost: a\r\n'])
    assert.match(
      await server.raw(`GET https://a/hello HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`),
      /^HTTP\/1\.1 400 /,
    )
})

test('without TLS an absolute target may have either scheme, as TLS may end at a proxy', async () => {
  await using server = await live({ ...options, tls: undefined })
  using wire = await plainWire(server.port)
  for (const scheme of ['http', 'https']) {
    wire.send(`GET ${scheme}://a/hello HTTP/1.1\r\nHost: a\r\n\r\n`)
    assert.equal((await wire.reply()).status, 200)
  }
})

// RFC 9112 §3.2
test('a Host that names no host is 400', async () => {
  await using server = await live(options)
  using wire = await secureWire(server.port)
  for (const [host, status] of [
    ['', 200],
    ['a.example:', 200],
    ['127.0.0.1:9998', 200],
    ['[::1]', 200],
    ['user@a', 400],
    ['a/b', 400],
    ['a b', 400],
    ['a:b', 400],
    ['a, b', 400],
    ['::1', 400],
    ['https://a', 400],
  ] as const) {
    wire.send(`GET /hello HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    assert.equal((await wire.reply()).status, status, host)
  }
})

// RFC 9110 §9.3.7
test('OPTIONS of the whole server is answered, other methods have no such target', async () => {
  await using server = await live(options)
  using wire = await secureWire(server.port)
  for (const target of ['*', 'https://a']) {
    wire.send(`OPTIONS ${target} HTTP/1.1\r\nHost: a\r\n\r\n`)
    assert.equal((await wire.reply()).status, 204)
  }
  wire.send('GET * HTTP/1.1\r\nHost: a\r\n\r\n')
  assert.equal((await wire.reply()).status, 400)
})

// RFC 9110 §10.1.1
test('an expectation other than 100-continue is 417, and its body is not read', async () => {
  await using server = await live(options)
  for (const expect of ['200-ok', '100-continue, x', '100-continue;x=y', 'x100-continue', '100']) {
    for (const head of ['POST /upload HTTP/1.1\r\nContent-Length: 2\r\n', 'GET /hello HTTP/1.1\r\n']) {
      const answer = await server.raw(`${head}Host: a\r\nExpect: ${expect}\r\nConnection: close\r\n\r\n`)
      assert.match(answer, /^HTTP\/1\.1 417 [\s\S]*"error":"expectation_failed"/, `${head} ${expect}`)
    }
  }
  for (const expect of ['100-Continue', '100-continue, 100-continue']) {
    const answer = await server.raw(
      `POST /upload HTTP/1.1\r\nHost: a\r\nExpect: ${expect}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab`,
    )
    assert.match(answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /)
  }
  for (const expect of ['', ',']) {
    using wire = await secureWire(server.port)
    wire.send(`GET /hello HTTP/1.1\r\nHost: a\r\nExpect: ${expect}\r\n\r\n`)
    assert.equal((await wire.reply()).status, 200)
  }
})
