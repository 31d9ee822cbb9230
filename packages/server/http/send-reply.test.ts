import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { get, post } from '../operations/define.ts'
import { live } from './fixtures/live.ts'
import { ask, common, createPacedOptions, define, put, readSaid } from './fixtures/paced.ts'
import { idle, plainWire, secureWire, type Wire } from './fixtures/wire.ts'

/** More than the kernel keeps between two ends, so that the rest of the reply has to wait. */
const large = 'r'.repeat(16 * 1024 * 1024)
const computeDigest = (body: string | Uint8Array) => createHash('sha256').update(body).digest('hex')
const largeReply = define({
  ...common,
  name: 'test.large',
  route: get('/large'),
  act: () => ({ said: large }),
})
const digest = define({
  ...common,
  name: 'test.digest',
  route: post('/digest'),
  act: (_input, { request }) => ({ said: computeDigest(request.body) }),
})
const service = () => createPacedOptions([largeReply, digest])
const request = (body: string) => put('/digest', body)
const bodies = ['a', 'b', 'c'].map((letter) => letter.repeat(300_000))

async function next(wire: Wire): Promise<string> {
  const reply = await wire.reply()
  assert.equal(reply.status, 200)
  return readSaid(reply)
}

async function expectDigests(wire: Wire): Promise<void> {
  for (const body of bodies) assert.equal(await next(wire), computeDigest(body))
}

for (const [name, connect] of [
  ['TLS', secureWire],
  ['TCP', plainWire],
] as const) {
  test(`${name}: large requests behind a reply that is not taken yet are read when it is`, async () => {
    const { options } = service()
    await using server = await live({ ...options, ...(name === 'TCP' && { tls: undefined }) })
    using wire = await connect(server.port)
    for (let round = 0; round < 2; round += 1) {
      wire.socket.pause()
      wire.send(ask('/large'))
      await waitUntilHalted(wire)
      for (const body of bodies) wire.send(request(body))
      // Enough for the server to read what it does not keep waiting.
      await new Promise((resolve) => setTimeout(resolve, 50))
      wire.socket.resume()
      assert.equal(await next(wire), large)
      await expectDigests(wire)
    }
    await idle(server)
  })

  test(`${name}: large requests behind a reply that waits for its turn`, async () => {
    const { begun, go, options } = service()
    await using server = await live({ ...options, ...(name === 'TCP' && { tls: undefined }) })
    using wire = await connect(server.port)
    wire.send(ask('/slow') + ask('/large'))
    await begun
    for (const body of bodies) wire.send(request(body))
    await new Promise((resolve) => setTimeout(resolve, 50))
    go()
    assert.equal(await next(wire), 'slow')
    assert.equal(await next(wire), large)
    await expectDigests(wire)
    await idle(server)
  })
}

test('a caller who sends and takes nothing is not read any further', async () => {
  const { options } = service()
  await using server = await live(options)
  using wire = await secureWire(server.port)
  wire.socket.pause()
  wire.send(ask('/large'))
  await waitUntilHalted(wire)
  const body = 'x'.repeat(1024 * 1024)
  for (let sent = 0; sent < 64; sent += 1) wire.send(request(body))
  await waitUntilHalted(wire)
  assert.ok(wire.socket.writableLength > 32 * body.length, `${wire.socket.writableLength} bytes are unsent`)
  assert.ok(server.service.inFlight() <= 2, `${server.service.inFlight()} requests are being served`)
})

test('replies that are not taken are held up to a bound; beyond it the connection ends', async () => {
  const { options } = service()
  await using server = await live({ ...options, limits: { bufferedBytes: 1.5 * large.length } })
  using one = await secureWire(server.port)
  one.socket.pause()
  one.send(ask('/large'))
  await waitUntilHalted(one)
  using two = await secureWire(server.port)
  two.socket.pause()
  two.send(ask('/large'))
  await waitUntilHalted(two)
  two.socket.resume()
  await assert.rejects(two.reply())
  // The first is whole, and when it has been taken there is room again.
  one.socket.resume()
  for (let round = 0; round < 2; round += 1) {
    assert.equal(await next(one), large)
    one.send(ask('/large'))
  }
  assert.equal(await next(one), large)
  await idle(server)
})

/** Until nothing has moved on the connection for a while. */
async function waitUntilHalted({ socket }: Wire): Promise<void> {
  for (let before = '', still = 0; still < 5; ) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    const now = `${socket.bytesRead} ${socket.bytesWritten} ${socket.writableLength}`
    still = now === before ? still + 1 : 0
    before = now
  }
}
