import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineOperation, get, post } from '../operations/define.ts'
import { certificate, live, privateKey } from './fixtures/live.ts'
import { plainWire } from './fixtures/wire.ts'

const define = defineOperation<undefined>()
const act = define({
  name: 'test.act',
  route: post('/act'),
  summary: 'Acts',
  tag: 'test',
  access: { name: 'signed in' },
  reach: [],
  act: (_input, { request, principal }) => ({ by: principal?.name, from: request.clientAddress }),
})
const hello = define({
  name: 'test.hello',
  route: get('/hello'),
  summary: 'Hello',
  tag: 'test',
  access: { name: 'public', public: true },
  reach: [],
  act: (_input, { request }) => ({ from: request.clientAddress, peer: request.peerAddress }),
})
const base = {
  services: undefined,
  operations: [act, hello],
  authenticate: () => ({ name: 'alice', method: 'session' }),
  tls: undefined,
}
const from = (origin: string, host: string) =>
  `POST /act HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\nContent-Length: 0\r\n\r\n`

test('a server without TLS answers over plain HTTP, with every header that all responses carry', async () => {
  await using server = await live(base)
  using wire = await plainWire(server.port)
  for (let round = 0; round < 2; round++) {
    wire.send('GET /hello HTTP/1.1\r\nHost: a\r\n\r\n')
    const answer = await wire.reply()
    assert.equal(answer.status, 200)
    assert.deepEqual(JSON.parse(answer.body.toString()), { from: '127.0.0.1', peer: '127.0.0.1' })
    assert.equal(answer.headers['x-frame-options'], 'DENY')
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    assert.equal(answer.headers['cache-control'], 'no-store')
  }
})

test('what speaks TLS to it is refused, and it goes on', async () => {
  await using server = await live(base)
  await assert.rejects(server.socket())
  using wire = await plainWire(server.port)
  wire.send(Buffer.from('16030100050100000100', 'hex'))
  assert.match(await wire.rest(), /^HTTP\/1\.1 400 [\s\S]*X-Frame-Options: DENY/)
  using next = await plainWire(server.port)
  next.send('GET /hello HTTP/1.1\r\nHost: a\r\n\r\n')
  assert.equal((await next.reply()).status, 200)
})

test('a page of its own host may act, over either scheme, as TLS may end at a proxy', async () => {
  await using server = await live(base)
  using wire = await plainWire(server.port)
  for (const origin of ['http://kms.example:8080', 'https://kms.example:8080']) {
    wire.send(from(origin, 'kms.example:8080'))
    const answer = await wire.reply()
    assert.equal(answer.status, 200, origin)
    assert.equal(answer.headers['access-control-allow-origin'], origin)
    assert.equal(answer.headers['access-control-allow-credentials'], 'true')
  }
  for (const origin of [
    'http://kms.example',
    'http://evil.example',
    'null',
    'ftp://kms.example:8080',
    'http://kms.example:8080.evil.example',
  ]) {
    wire.send(from(origin, 'kms.example:8080'))
    const answer = await wire.reply()
    assert.equal(answer.status, 403, origin)
    assert.equal(answer.headers['access-control-allow-origin'], undefined)
  }
})

test('with TLS a page that came over plain HTTP is foreign, even from the own host', async () => {
  await using server = await live({ ...base, tls: { cert: certificate, key: privateKey } })
  const host = `127.0.0.1:${server.port}`
  assert.equal((await server.call('POST', '/act', { headers: { origin: `https://${host}` } })).status, 200)
  const plain = await server.call('POST', '/act', { headers: { origin: `http://${host}` } })
  assert.equal(plain.status, 403)
  assert.equal(plain.headers['access-control-allow-origin'], undefined)
})

test('the public address of the service is its own origin, whatever Host says', async () => {
  await using server = await live({ ...base, baseUrl: 'https://kms.example/' })
  using wire = await plainWire(server.port)
  wire.send(from('https://kms.example', '10.0.0.7:8080'))
  assert.equal((await wire.reply()).status, 200)
})

test('the client behind a trusted proxy is told to the handlers; the peer stays the proxy', async () => {
  await using server = await live({ ...base, trustedProxyCidrs: ['127.0.0.0/8'] })
  using wire = await plainWire(server.port)
  wire.send(
    'GET /hello HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n',
  )
  const answer = await wire.reply()
  assert.deepEqual(JSON.parse(answer.body.toString()), { from: '192.0.2.7', peer: '127.0.0.1' })
})

test('only a peer that shows the secret of the installation is trusted to state its client', async () => {
  const peerSecret = 'a secret that both services know of'
  await using server = await live({ ...base, peerSecret })
  const readClient = async (...lines: readonly string[]) => {
    using wire = await plainWire(server.port)
    wire.send(['GET /hello HTTP/1.1', 'Host: a', 'X-Forwarded-For: 192.0.2.7', ...lines, '', ''].join('\r\n'))
    return JSON.parse((await wire.reply()).body.toString()).from
  }
  assert.equal(await readClient(`X-Warder-Peer: ${peerSecret}`), '192.0.2.7')
  assert.equal(await readClient(), '127.0.0.1')
  assert.equal(await readClient(`X-Warder-Peer: ${peerSecret}!`), '127.0.0.1')
  assert.equal(await readClient(`X-Warder-Peer: ${peerSecret}`, `X-Warder-Peer: ${peerSecret}`), '127.0.0.1')
  await using without = await live(base)
  using wire = await plainWire(without.port)
  wire.send(
    'GET /hello HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.7\r\nX-Warder-Peer: undefined\r\n\r\n',
  )
  assert.equal(JSON.parse((await wire.reply()).body.toString()).from, '127.0.0.1')
})

test('a share of the connections ends with its next reply, without losing any, so that clients come to another worker', async () => {
  await using server = await live(base)
  const wires = await Promise.all(Array.from({ length: 4 }, () => plainWire(server.port)))
  const ask = 'GET /hello HTTP/1.1\r\nHost: a\r\n\r\n'
  const round = () =>
    Promise.all(
      wires.map(async (wire) => {
        wire.send(ask)
        return await wire.reply()
      }),
    )
  await round()
  server.service.spread(0.5)
  const answers = await round()
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  )
  assert.deepEqual(answers.map(({ headers }) => headers.connection).toSorted(), [
    'close',
    'close',
    'keep-alive',
    'keep-alive',
  ])
  for (const wire of wires) wire[Symbol.dispose]()
})
