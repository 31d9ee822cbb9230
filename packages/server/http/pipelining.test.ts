import assert from 'node:assert/strict'
import { test } from 'node:test'
import { get, post } from '../operations/define.ts'
import { live } from './fixtures/live.ts'
import { ask, common, createPacedOptions, define, put, readSaid } from './fixtures/paced.ts'
import { idle, secureWire } from './fixtures/wire.ts'

const fast = define({ ...common, name: 'test.fast', route: get('/fast'), act: () => ({ said: 'fast' }) })
const upload = define({
  ...common,
  name: 'test.upload',
  route: post('/upload'),
  act: (_input, { request }) => ({ said: Buffer.from(request.body).toString() }),
})
const service = () => createPacedOptions([fast, upload])
const request = (body: string) => put('/upload', body)

test('requests that arrive together are answered in their order', async () => {
  const { options } = service()
  await using server = await live(options)
  using wire = await secureWire(server.port)
  const words = Array.from({ length: 50 }, (_, index) => `word ${index}`)
  wire.send(words.map((word) => request(word) + ask('/fast')).join(''))
  for (const word of words) {
    assert.equal(readSaid(await wire.reply()), word)
    assert.equal(readSaid(await wire.reply()), 'fast')
  }
  await idle(server)
})

test('more requests together than are kept waiting are answered in their order', async () => {
  const { options } = service()
  await using server = await live(options)
  using wire = await secureWire(server.port)
  const words = Array.from({ length: 1500 }, (_, index) => `word ${index}`)
  wire.send(words.map((word) => request(word) + ask('/fast')).join(''))
  for (const word of words) {
    assert.equal(readSaid(await wire.reply()), word)
    assert.equal(readSaid(await wire.reply()), 'fast')
  }
  await idle(server)
})

test('a slow first request is still answered first, also before a body and before a refusal', async () => {
  const { begun, go, options } = service()
  await using server = await live(options)
  using wire = await secureWire(server.port)
  wire.send(ask('/slow') + request('second') + ask('/nowhere') + ask('/fast'))
  await begun
  go()
  assert.equal(readSaid(await wire.reply()), 'slow')
  assert.equal(readSaid(await wire.reply()), 'second')
  assert.equal((await wire.reply()).status, 404)
  assert.equal(readSaid(await wire.reply()), 'fast')
})

test('requests cut at any byte are the same requests', async () => {
  const { options } = service()
  await using server = await live(options)
  using wire = await secureWire(server.port)
  const bytes = request('one') + ask('/fast') + request('two')
  for (let at = 0; at < bytes.length; at += 7) {
    wire.send(bytes.slice(at, at + 7))
    await new Promise(setImmediate)
  }
  for (const word of ['one', 'fast', 'two']) assert.equal(readSaid(await wire.reply()), word)
})

test('a second request that cannot be read does not spoil the first reply', async () => {
  const { options } = service()
  await using server = await live(options)
  using wire = await secureWire(server.port)
  wire.send(`${ask('/fast')}NONSENSE\r\n\r\n${ask('/fast')}`)
  assert.equal(readSaid(await wire.reply()), 'fast')
  const refusal = await wire.reply()
  assert.equal(refusal.status, 400)
  assert.equal(refusal.headers.connection, 'close')
  assert.equal(await wire.rest(), '')
})

test('a second request that cannot be read does not spoil a first reply that is still being made', async () => {
  const { begun, go, options } = service()
  await using server = await live(options)
  for (const together of [true, false]) {
    using wire = await secureWire(server.port)
    wire.send(together ? `${ask('/slow')}NONSENSE\r\n\r\n${ask('/fast')}` : ask('/slow'))
    await begun
    if (!together) {
      wire.send(`NONSENSE\r\n\r\n${ask('/fast')}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    go()
    assert.equal(readSaid(await wire.reply()), 'slow')
    assert.equal((await wire.reply()).status, 400)
    assert.equal(await wire.rest(), '', 'nothing behind the nonsense is served')
  }
})

test('a refusal comes behind all replies that wait for one another', async () => {
  const { begun, go, options } = service()
  await using server = await live(options)
  using quick = await secureWire(server.port)
  quick.send(`${ask('/fast').repeat(20)}NONSENSE\r\n\r\n`)
  for (let count = 0; count < 20; count++) assert.equal(readSaid(await quick.reply()), 'fast')
  assert.equal((await quick.reply()).status, 400)
  using wire = await secureWire(server.port)
  wire.send(`${ask('/slow')}${ask('/fast').repeat(3)}NONSENSE\r\n\r\n`)
  await begun
  go()
  for (const word of ['slow', 'fast', 'fast', 'fast']) assert.equal(readSaid(await wire.reply()), word)
  assert.equal((await wire.reply()).status, 400)
  assert.equal(await wire.rest(), '')
})

test('a second request whose body breaks off does not spoil the first reply', async () => {
  const { options } = service()
  await using server = await live(options)
  using wire = await secureWire(server.port)
  wire.send(`${ask('/fast')}POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc`)
  assert.equal(readSaid(await wire.reply()), 'fast')
  wire.send('defg\r\n')
  assert.equal((await wire.reply()).status, 400)
  assert.equal(await wire.rest(), '')
  await idle(server)
})

test('nothing is served behind a request that closes its connection', async () => {
  const { options } = service()
  await using server = await live(options)
  using wire = await secureWire(server.port)
  wire.send(`GET /fast HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n${ask('/fast')}`)
  assert.equal((await wire.reply()).headers.connection, 'close')
  assert.equal(await wire.rest(), '')
})

test('a caller that goes away while its requests are served leaves nothing in flight', async () => {
  const { begun, go, options } = service()
  await using server = await live(options)
  using wire = await secureWire(server.port)
  wire.send(ask('/slow') + ask('/fast'))
  await begun
  wire.socket.destroy()
  go()
  await idle(server)
  assert.equal((await server.call('GET', '/fast')).status, 200)
})
