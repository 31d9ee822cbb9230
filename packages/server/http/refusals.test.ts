import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Metrics } from '@warder/base'
import { defineOperation, get, post } from '../operations/define.ts'
import { live, testAudit } from './fixtures/live.ts'
import { idle, secureWire } from './fixtures/wire.ts'
import { createTokenBuckets } from './token-buckets.ts'

const define = defineOperation<undefined>()
const anyone = { name: 'public', public: true } as const
const upload = define({
  name: 'test.upload',
  route: post('/upload'),
  summary: 'Counts bytes',
  tag: 'test',
  access: anyone,
  reach: [],
  act: (_input, { request }) => ({ bytes: request.body.length }),
})
const slow = (until: Promise<void>) =>
  define({
    name: 'test.slow',
    route: get('/slow'),
    summary: 'Waits',
    tag: 'test',
    access: anyone,
    reach: [],
    act: () => until.then(() => ({ slow: true })),
  })
const base = { services: undefined, operations: [upload] }
const connect = 'CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n'
const inner = 'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n'

// What followed the malformed chunk made the server reset the connection under its own reply.
test('a malformed chunked body gets its 400 however much follows it', async () => {
  await using server = await live(base)
  for (const path of ['/upload', '/nowhere']) {
    for (const valid of [0, 200_000]) {
      for (const more of [1, 20, 200]) {
        using wire = await secureWire(server.port)
        const errors: Error[] = []
        wire.socket.on('error', (error) => errors.push(error))
        const chunk = valid === 0 ? '' : `${valid.toString(16)}\r\n${'x'.repeat(valid)}\r\n`
        wire.send(`POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}zz\r\n`)
        for (let piece = 0; piece < more; piece++) wire.send('y'.repeat(16_384))
        const answer = await wire.reply()
        assert.equal(answer.status, path === '/upload' ? 400 : 404, `${valid} ${more}`)
        assert.equal(answer.headers.connection, 'close')
        assert.equal(await wire.rest(), '')
        assert.deepEqual(errors, [])
      }
    }
  }
  await idle(server)
})

test('a caller who goes on after its refusal is cut', async () => {
  await using server = await live(base)
  using wire = await secureWire(server.port)
  wire.socket.on('error', () => {})
  wire.send('GET /hello\r\n\r\n')
  assert.equal((await wire.reply()).status, 400)
  const sending = setInterval(() => wire.socket.writable && wire.send('y'), 50)
  assert.equal(await wire.rest(), '')
  clearInterval(sending)
})

// RFC 9110 §9.1 and §9.3.6
test('CONNECT is 501 and ends its connection; it counts, and is recorded, as any request', async () => {
  const audit = testAudit('continue')
  const seen: unknown[] = []
  const metrics: Metrics = {
    operation: (...measured) => void seen.push(measured.slice(0, 2)),
    count() {},
    gauge() {},
    collected() {},
    exposition: async () => '',
  }
  await using server = await live({ ...base, audit, metrics })
  using wire = await secureWire(server.port)
  wire.send(`${connect}${inner}`)
  const answer = await wire.reply()
  assert.equal(answer.status, 501)
  assert.equal(answer.headers.connection, 'close')
  assert.equal(answer.headers['x-frame-options'], 'DENY')
  assert.equal(JSON.parse(answer.body.toString()).error, 'not_implemented')
  assert.equal(await wire.rest(), '')
  assert.deepEqual(seen, [['http.unmatched', 501]])
  assert.deepEqual(
    audit.events.map(({ operation, status, request_id }) => [operation, status, request_id]),
    [['http.unmatched', 501, answer.headers['x-request-id']]],
  )
  await idle(server)
})

test('CONNECT takes from the rate of its address, and is refused above it', async () => {
  const clock = { now: () => 1_000_000, monotonic: () => 0 }
  const rateLimiter = createTokenBuckets({ ratePerSecond: 0.5, burst: 1, slots: 16, clock })
  await using server = await live({ ...base, rateLimiter })
  assert.match(await server.raw(connect), /^HTTP\/1\.1 501 /)
  assert.match(await server.raw(connect), /^HTTP\/1\.1 429 [\s\S]*\r\nRetry-After: 2\r\n/)
})

test('CONNECT is recorded before its reply where the audit mode asks for it', async () => {
  const audit = testAudit('reject')
  await using server = await live({ ...base, audit })
  assert.match(await server.raw(connect), /^HTTP\/1\.1 501 /)
  assert.equal(audit.events.length, 1)
  audit.broken = true
  assert.match(await server.raw(connect), /^HTTP\/1\.1 503 /)
})

test('CONNECT is answered after the requests before it, and nothing is after it', async () => {
  const gate = Promise.withResolvers<void>()
  await using server = await live({ services: undefined, operations: [slow(gate.promise), upload] })
  using wire = await secureWire(server.port)
  wire.send(`${inner}${inner}${connect}${inner}`)
  while (server.service.inFlight() > 2 || server.service.inFlight() === 0)
    await new Promise((resolve) => setImmediate(resolve))
  gate.resolve()
  assert.deepEqual([(await wire.reply()).status, (await wire.reply()).status], [200, 200])
  assert.equal((await wire.reply()).status, 501)
  assert.equal(await wire.rest(), '')
  await idle(server)
})
