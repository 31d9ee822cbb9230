import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { defineOperation, get, post } from '../operations/define.ts'
import { live } from './fixtures/live.ts'
import { createTokenBuckets } from './token-buckets.ts'

const define = defineOperation<undefined>()
const anyone = { name: 'public', public: true } as const
const upload = define({
  name: 'test.upload',
  route: post('/upload'),
  summary: 'Counts bytes',
  tag: 'test',
  rawBody: true,
  access: anyone,
  reach: [],
  bodyLimit: 1000,
  act: (_input, { request }) => ({ bytes: request.body.length }),
})
const hello = define({
  name: 'test.hello',
  route: get('/hello'),
  summary: 'Hello',
  tag: 'test',
  rawBody: true,
  access: anyone,
  reach: [],
  act: () => ({ hello: true }),
})
const base = { services: undefined, operations: [upload, hello] }
const head = 'POST /upload HTTP/1.1\r\nHost: localhost\r\n'
const secured = /x-frame-options: DENY/i

test('a body over the limit is 413 by its declared length, before it is sent', async () => {
  await using server = await live(base)
  const answer = await server.raw(`${head}Content-Length: 100000000\r\n\r\n`)
  assert.match(answer, /^HTTP\/1.1 413 /)
  assert.match(answer, secured)
  assert.match(answer, /connection: close/i)
  assert.match(answer, /payload_too_large/)
})

test('an operation may take less than the service does, never more', async () => {
  await using server = await live({ ...base, limits: { bodyBytes: 500 } })
  assert.equal((await server.call('POST', '/upload', { body: 'a'.repeat(500) })).status, 200)
  assert.equal((await server.call('POST', '/upload', { body: 'a'.repeat(501) })).status, 413)
})

test('a chunked body is counted as it comes', async () => {
  await using server = await live(base)
  const chunk = `1f4\r\n${'a'.repeat(500)}\r\n`
  const fits = await server.raw(
    `${head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}${chunk}0\r\n\r\n`,
  )
  assert.match(fits, /^HTTP\/1.1 200 [\s\S]*"bytes":1000/)
  const over = await server.raw(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}${chunk}`)
  assert.match(over, /^HTTP\/1.1 413 /)
})

test('100-continue is asked for only when the body will be read', async () => {
  await using server = await live(base)
  const start = `${head}Expect: 100-continue\r\n`
  const go = await server.raw(`${start}Connection: close\r\nContent-Length: 2\r\n\r\nab`)
  assert.match(go, /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 /)
  const no = await server.raw(`${start}Content-Length: 2000\r\n\r\n`)
  assert.match(no, /^HTTP\/1.1 413 /)
})

test('headers over the limit are 431, and that too carries the security headers', async () => {
  await using server = await live({ ...base, limits: { maxHeaderBytes: 2048 } })
  const answer = await server.raw(`GET /hello HTTP/1.1\r\nHost: a\r\nX-Long: ${'a'.repeat(4000)}\r\n\r\n`)
  assert.match(answer, /^HTTP\/1.1 431 /)
  assert.match(answer, secured)
})

test('requests that two parsers could read in two ways are 400', async () => {
  await using server = await live(base)
  const chunked = 'Transfer-Encoding: chunked\r\n'
  for (const smuggled of [
    `${head}Content-Length: 5\r\n${chunked}\r\n0\r\n\r\n`,
    `${head}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef`,
    `${head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
    'GET /hello HTTP/1.1\r\nHost: a\r\nX-A: b\r\n : c\r\n\r\n',
    'GET /hello HTTP/1.1\nHost: a\n\n',
    'GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n',
    'GET http://evil.example/hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  ]) {
    const answer = await server.raw(smuggled)
    assert.match(answer, /^HTTP\/1.1 400 /, smuggled)
    assert.match(answer, secured)
  }
})

test('slow heads, slow bodies and idle connections are cut', async () => {
  const quick = {
    headersTimeoutMs: 60,
    requestTimeoutMs: 120,
    keepAliveTimeoutMs: 50,
    connectionsCheckingIntervalMs: 20,
  }
  await using server = await live({ ...base, limits: quick })
  assert.match(await server.raw('GET /hello HTTP/1.1\r\nX-A'), /^HTTP\/1.1 408 /)
  assert.match(await server.raw(`${head}Content-Length: 10\r\n\r\nabc`), /^HTTP\/1.1 408 /)
  assert.match(await server.raw('GET /hello HTTP/1.1\r\nHost: a\r\n\r\n'), /^HTTP\/1.1 200 /)
  assert.equal(server.service.inFlight(), 0)
})

test('a connection without a handshake, or with half of one, is cut', async () => {
  await using server = await live({ ...base, limits: { handshakeTimeoutMs: 100 } })
  const clientHello = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])
  for (const sent of ['', clientHello, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n']) {
    const socket = connect({ host: '127.0.0.1', port: server.port })
    socket.on('error', () => {}).resume()
    socket.write(sent)
    const cut = new Promise((resolve) => socket.once('close', () => resolve('cut')))
    const kept = new Promise((resolve) => setTimeout(resolve, 3000, 'kept').unref())
    assert.equal(await Promise.race([cut, kept]), 'cut')
  }
})

test('bodies of all requests together are bounded', async () => {
  await using server = await live({ ...base, limits: { bufferedBytes: 100 } })
  assert.equal((await server.call('POST', '/upload', { body: 'a'.repeat(200) })).status, 503)
  for (let round = 0; round < 3; round++) {
    assert.equal((await server.call('POST', '/upload', { body: 'a'.repeat(90) })).status, 200)
  }
})

test('a body in many pieces counts with the buffer that holds it, until it is answered', async () => {
  await using server = await live({ ...base, limits: { bufferedBytes: 1000 } })
  const body = `${'1\r\na\r\n'.repeat(600)}0\r\n\r\n`
  for (let round = 0; round < 3; round++) {
    const answer = await server.raw(`${head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${body}`)
    assert.match(answer, /^HTTP\/1.1 200 [\s\S]*"bytes":600/)
  }
  assert.equal((await server.call('POST', '/upload', { body: 'a'.repeat(1000) })).status, 200)
})

test('the rate limit answers every path with the seconds to wait', async () => {
  const clock = { now: () => 1_000_000, monotonic: () => 0 }
  const rateLimiter = createTokenBuckets({ ratePerSecond: 0.5, burst: 2, slots: 16, clock })
  await using server = await live({ ...base, rateLimiter })
  assert.equal((await server.call('GET', '/hello')).status, 200)
  assert.equal((await server.call('GET', '/nowhere')).status, 404)
  const answer = await server.call('GET', '/nowhere')
  assert.equal(answer.status, 429)
  assert.equal(answer.headers['retry-after'], '2')
  assert.equal(answer.headers['x-ratelimit-after'], '2')
  assert.equal(answer.json.error, 'rate_limited')
})

test('draining lets a request in flight finish and refuses new connections', async () => {
  let finish: (() => void) | undefined
  const begun = Promise.withResolvers<void>()
  const slow = define({
    ...hello,
    name: 'test.slow',
    async act() {
      begun.resolve()
      await new Promise<void>((resolve) => {
        finish = resolve
      })
      return { done: true }
    },
  } as never)
  const server = await live({ services: undefined, operations: [slow] })
  const answer = server.call('GET', '/hello')
  await begun.promise
  assert.equal(server.service.inFlight(), 1)
  const drained = server.service.drain(5000)
  finish?.()
  assert.equal((await answer).headers.connection, 'close')
  await drained
  await assert.rejects(server.socket())
})

test('draining cuts what does not finish in time', async () => {
  const begun = Promise.withResolvers<void>()
  const never = define({
    ...hello,
    name: 'test.never',
    act() {
      begun.resolve()
      return new Promise(() => {})
    },
  } as never)
  const server = await live({ services: undefined, operations: [never] })
  const answer = assert.rejects(server.call('GET', '/hello'))
  await begun.promise
  await server.service.drain(20)
  await answer
})
