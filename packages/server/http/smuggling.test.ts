import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineOperation, get, post } from '../operations/define.ts'
import { live } from './fixtures/live.ts'
import { idle, secureWire } from './fixtures/wire.ts'

const define = defineOperation<undefined>()
const anyone = { name: 'public', public: true } as const

/** A server that notes what reached a handler; `/secret` is what an attacker would like to reach unseen. */
const createWatchedServer = () => {
  const reached: string[] = []
  const operation = (name: string, route: ReturnType<typeof get>) =>
    define({
      name,
      route,
      summary: name,
      tag: 'test',
      access: anyone,
      reach: [],
      act(_input, { request }) {
        reached.push(`${request.method} ${request.path} ${request.body.length}`)
        return { ok: true }
      },
    })
  const operations = [
    operation('test.upload', post('/upload')),
    operation('test.hello', get('/hello')),
    operation('test.secret', get('/secret')),
  ]
  return { reached, options: { services: undefined, operations } }
}
const inner = 'GET /secret HTTP/1.1\r\nHost: a\r\n\r\n'
const upload = 'POST /upload HTTP/1.1\r\nHost: a\r\n'
const chunked = 'Transfer-Encoding: chunked\r\n'

/** RFC 9112 §6.3, §5.2, §2.2: each could be cut into requests in two ways. */
const ambiguous: Readonly<Record<string, string>> = {
  'CL.TE': `${upload}Content-Length: ${inner.length + 5}\r\n${chunked}\r\n0\r\n\r\n${inner}`,
  'TE.CL': `${upload}${chunked}Content-Length: 4\r\n\r\n5c\r\n${inner}\r\n0\r\n\r\n`,
  'TE with another case': `${upload}Content-Length: 4\r\ntransfer-ENCODING: Chunked\r\n\r\n0\r\n\r\n${inner}`,
  'chunked is not last': `${upload}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${inner}`,
  'chunked in a second header, then another': `${upload}${chunked}Transfer-Encoding: x\r\n\r\n0\r\n\r\n${inner}`,
  'an unknown coding': `${upload}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${inner}`,
  'a blank before the colon': `${upload}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${inner}`,
  'a vertical tab before chunked': `${upload}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n${inner}`,
  'two lengths that differ': `${upload}Content-Length: 0\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
  'two lengths in one header': `${upload}Content-Length: 0, ${inner.length}\r\n\r\n${inner}`,
  'two equal lengths': `${upload}Content-Length: 1\r\nContent-Length: 1\r\n\r\na${inner}`,
  'a signed length': `${upload}Content-Length: +1\r\n\r\na${inner}`,
  'a negative length': `${upload}Content-Length: -1\r\n\r\n${inner}`,
  'a hexadecimal length': `${upload}Content-Length: 0x1\r\n\r\na${inner}`,
  'a length with a blank inside': `${upload}Content-Length: 1 1\r\n\r\na${inner}`,
  'an empty length': `${upload}Content-Length: \r\n\r\n${inner}`,
  'a length over 64 bits': `${upload}Content-Length: 18446744073709551617\r\n\r\na${inner}`,
  'a chunk size over 64 bits': `${upload}${chunked}\r\n10000000000000001\r\na\r\n0\r\n\r\n${inner}`,
  'a signed chunk size': `${upload}${chunked}\r\n+1\r\na\r\n0\r\n\r\n${inner}`,
  'a prefixed chunk size': `${upload}${chunked}\r\n0x1\r\na\r\n0\r\n\r\n${inner}`,
  'a chunk longer than it says': `${upload}${chunked}\r\n1\r\nabc\r\n0\r\n\r\n${inner}`,
  'a bare LF after a chunk size': `${upload}${chunked}\r\n1\na\r\n0\r\n\r\n${inner}`,
  'a bare LF in a chunk extension': `${upload}${chunked}\r\n1;a\n\r\na\r\n0\r\n\r\n${inner}`,
  'a bare LF after a chunk': `${upload}${chunked}\r\n1\r\na\n0\r\n\r\n${inner}`,
  'a folded header': `${upload}X-A: b\r\n Content-Length: 5\r\n\r\n${inner}`,
  'a folded transfer coding': `${upload}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${inner}`,
  'bare LF everywhere': 'GET /hello HTTP/1.1\nHost: a\n\n',
  'a bare LF after one header': 'GET /hello HTTP/1.1\r\nHost: a\nX-A: b\r\n\r\n',
  'a bare LF after the request line': 'GET /hello HTTP/1.1\nHost: a\r\n\r\n',
  'a bare LF at the end of the head': 'GET /hello HTTP/1.1\r\nHost: a\r\n\n',
  'a bare CR inside a header': 'GET /hello HTTP/1.1\r\nHost: a\r\nX-A: b\rContent-Length: 5\r\n\r\n',
  'a NUL inside a header': 'GET /hello HTTP/1.1\r\nHost: a\r\nX-A: b\0c\r\n\r\n',
  'a header without a name': 'GET /hello HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n',
  'a header without a colon': 'GET /hello HTTP/1.1\r\nHost: a\r\nX-A\r\n\r\n',
  'a blank before the first header': 'GET /hello HTTP/1.1\r\n Host: a\r\nHost: b\r\n\r\n',
  'a blank inside the target': 'GET /hello /secret HTTP/1.1\r\nHost: a\r\n\r\n',
  'a control character in the target': 'GET /hello\x01 HTTP/1.1\r\nHost: a\r\n\r\n',
  'bytes over 127 in the target': 'GET /hell\xf6 HTTP/1.1\r\nHost: a\r\n\r\n',
  'no version': 'GET /hello\r\nHost: a\r\n\r\n',
  'an unknown version': 'GET /hello HTTP/1.2\r\nHost: a\r\n\r\n',
  'HTTP/0.9 by name': 'GET /hello HTTP/0.9\r\nHost: a\r\n\r\n',
  'HTTP/2 by name': 'GET /hello HTTP/2.0\r\nHost: a\r\n\r\n',
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'an unknown method': 'HACK /hello HTTP/1.1\r\nHost: a\r\n\r\n',
  'a method in lower case': 'get /hello HTTP/1.1\r\nHost: a\r\n\r\n',
  'TE in HTTP/1.0': `POST /upload HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n${chunked}\r\n0\r\n\r\n${inner}`,
}

test('a message that two parsers could cut in two ways is 400, the connection ends, and what hides in it is not served', async (t) => {
  for (const [name, bytes] of Object.entries(ambiguous)) {
    await t.test(name, async () => {
      const { reached, options } = createWatchedServer()
      await using server = await live(options)
      using wire = await secureWire(server.port)
      wire.send(Buffer.from(bytes, 'latin1'))
      wire.send(inner)
      const answer = await wire.rest()
      assert.match(answer, /^HTTP\/1\.1 400 /)
      assert.match(answer, /\r\nConnection: close\r\n/i)
      assert.match(answer, /\r\nX-Frame-Options: DENY\r\n/i)
      assert.match(answer, /\r\nCache-Control: no-store\r\n/i)
      assert.match(answer, /\{"error":"bad_request","description":"[^"]+"\}$/)
      assert.equal(answer.match(/HTTP\/1\.1 /g)?.length, 1)
      assert.deepEqual(
        reached.filter((line) => line.includes('secret')),
        [],
      )
      await idle(server)
    })
  }
})

test('Host is there exactly once, credentials and type at most once, whatever the method and the path', async () => {
  const { reached, options } = createWatchedServer()
  await using server = await live(options)
  for (const line of [
    'GET /hello',
    'HEAD /hello',
    'POST /upload',
    'OPTIONS /hello',
    'DELETE /hello',
    'GET /no',
  ]) {
    for (const [why, hosts] of [
      ['more than once', 'Host: a\r\nHost: a\r\n'],
      ['more than once', 'Host: a\r\nhOST: b\r\n'],
      ['more than once', 'Host: a\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n'],
      ['more than once', 'Host: a\r\nContent-Type: text/plain\r\nContent-Type: application/json\r\n'],
      ['missing', ''],
      ['missing', 'X-Host: a\r\nHosts: a\r\n'],
    ] as const) {
      using wire = await secureWire(server.port)
      wire.send(`${line} HTTP/1.1\r\n${hosts}Origin: https://a\r\nAccess-Control-Request-Method: GET\r\n\r\n`)
      const bodyless = line.startsWith('HEAD') ? 'bodyless' : undefined
      const answer = await wire.reply(bodyless)
      assert.equal(answer.status, 400, `${line} ${hosts}`)
      assert.equal(answer.headers['x-frame-options'], 'DENY')
      if (bodyless === undefined) assert.match(answer.body.toString(), new RegExp(`header .*${why}`))
    }
  }
  assert.deepEqual(reached, [])
})

test('HTTP/1.0 needs no Host', async () => {
  const { options } = createWatchedServer()
  await using server = await live(options)
  assert.match(await server.raw('GET /hello HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /)
  assert.match(await server.raw('GET /hello HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n'), /^HTTP\/1\.1 400 /)
})

test('a path is not normalised: what a proxy in front may have let through leads nowhere', async () => {
  const { reached, options } = createWatchedServer()
  await using server = await live(options)
  for (const target of [
    '//hello',
    '//evil.example/hello',
    '/./hello',
    '/x/../hello',
    '/%2e/hello',
    '/HELLO',
    '/hello/',
  ])
    assert.match(
      await server.raw(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`),
      /^HTTP\/1\.1 404 /,
      target,
    )
  assert.deepEqual(reached, [])
})

test('an upgrade is not made', async () => {
  const { options } = createWatchedServer()
  await using server = await live(options)
  for (const protocol of ['h2c', 'websocket']) {
    using wire = await secureWire(server.port)
    wire.send(
      `GET /hello HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAA\r\n\r\n`,
    )
    assert.equal((await wire.reply()).status, 200)
    wire.send(inner)
    assert.equal((await wire.reply()).status, 200, 'the connection still speaks HTTP/1.1')
  }
})

test('trailers do not become headers', async () => {
  const seen: (string | undefined)[] = []
  const operation = define({
    name: 'test.trailers',
    route: post('/upload'),
    summary: 'Looks at its headers',
    tag: 'test',
    access: anyone,
    reach: [],
    act: (_input, { request }) => void seen.push(request.headers.authorization, request.headers.host),
  })
  await using server = await live({ services: undefined, operations: [operation] })
  using wire = await secureWire(server.port)
  wire.send(
    `${upload}${chunked}Trailer: Authorization\r\n\r\n0\r\nAuthorization: Bearer x\r\nHost: b\r\n\r\n`,
  )
  assert.equal((await wire.reply()).status, 200)
  assert.deepEqual(seen, [undefined, 'a'])
})

test('an unread body is not parsed as the next request', async () => {
  const { reached, options } = createWatchedServer()
  await using server = await live(options)
  for (const line of ['POST /nowhere', 'POST /hello', 'OPTIONS /upload']) {
    using wire = await secureWire(server.port)
    wire.send(
      `${line} HTTP/1.1\r\nHost: a\r\nContent-Length: ${inner.length}\r\n\r\n${inner}GET /hello HTTP/1.1\r\nHost: a\r\n\r\n`,
    )
    assert.ok((await wire.reply()).status !== 200)
    assert.equal((await wire.reply()).status, 200)
  }
  assert.deepEqual(reached, Array(3).fill('GET /hello 0'))
})

test('a refused request that expects 100-continue ends its connection: its body may or may not follow', async () => {
  const { reached, options } = createWatchedServer()
  await using server = await live(options)
  const answer = await server.raw(
    `POST /nowhere HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: ${inner.length}\r\n\r\n${inner}${inner}`,
  )
  assert.match(answer, /^HTTP\/1\.1 404 /)
  assert.match(answer, /\r\nConnection: close\r\n/i)
  assert.equal(answer.match(/HTTP\/1\.1 /g)?.length, 1)
  assert.deepEqual(reached, [])
})
