import assert from 'node:assert/strict'
import { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { defineOperation, get } from '../../operations/define.ts'
import { live } from '../fixtures/live.ts'
import { secureWire } from '../fixtures/wire.ts'

const define = defineOperation<undefined>()
const anyone = { name: 'public', public: true } as const
const said = define({
  name: 'test.said',
  route: get('/said'),
  summary: 'Says something that is not ASCII',
  tag: 'test',
  access: anyone,
  reach: [],
  act: () => ({ said: 'größer als 日本' }),
})
const cached = define({
  name: 'test.cached',
  route: get('/cached'),
  summary: 'May be kept',
  tag: 'test',
  access: anyone,
  reach: [],
  cacheControl: 'public, max-age=60',
  act: () => ({ kept: true }),
})
const options = {
  services: undefined,
  operations: [said, cached],
  authenticate: () => undefined,
}

/** The head without what differs from reply to reply. */
const getHead = (bytes: string): string =>
  (bytes.split('\r\n\r\n', 1)[0] ?? '')
    .replace(/^X-Request-Id: [0-9a-f-]{36}$/m, 'X-Request-Id: one')
    .replace(/^Date: .{29}$/m, 'Date: then')

async function rawReply(port: number, request: string): Promise<string> {
  using wire = await secureWire(port)
  const bytes = new Promise<string>((resolve) => {
    wire.socket.once('data', (chunk: Buffer) => resolve(chunk.toString('utf8')))
  })
  wire.send(request)
  return await bytes
}

test('the head that is written in one piece is the one that node writes, name for name', async () => {
  await using server = await live(options)
  for (const path of ['/said', '/cached']) {
    const whole = await rawReply(server.port, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
    // A reply to HEAD always comes from `writeHead`.
    const head = await rawReply(server.port, `HEAD ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
    assert.equal(getHead(whole), getHead(head))
    assert.match(whole, /\r\nDate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/)
    assert.match(whole, path === '/cached' ? /Cache-Control: public, max-age=60/ : /Cache-Control: no-store/)
  }
})

test('this runtime keeps its head where it is written to', async () => {
  const response = new ServerResponse({ method: 'GET' } as never)
  assert.equal((response as { _header?: unknown })._header, null)
})

test('the length is that of the bytes, and the connection serves the next request', async () => {
  await using server = await live(options)
  using wire = await secureWire(server.port)
  for (let round = 0; round < 3; round += 1) {
    wire.send('GET /said HTTP/1.1\r\nHost: a\r\n\r\n')
    const reply = await wire.reply()
    assert.deepEqual(JSON.parse(reply.body.toString('utf8')), { said: 'größer als 日本' })
  }
})

test('a client that requests the end of the connection gets it with the reply', async () => {
  await using server = await live(options)
  using wire = await secureWire(server.port)
  wire.send('GET /said HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  const reply = await wire.reply()
  assert.equal(reply.headers.connection, 'close')
  assert.equal(await wire.rest(), '')
})
