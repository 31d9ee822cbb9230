import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { systemClock } from '@warder/base'
import { strictLog } from '@warder/base/testing'
import { byteString, encodeTtlv, structure, Tag } from '@warder/kmip-codec'
import { RequestBatcher } from '@warder/server'
import { defaultSocketLimits, KmipConnection } from './connection.ts'
import type { ReadBudget } from './message-reader.ts'

const message = Buffer.from(
  encodeTtlv(structure(Tag.RequestMessage, [byteString(Tag.Data, Buffer.alloc(4096))])),
)
const turns = async (): Promise<void> => {
  for (let count = 0; count < 5; count++) await new Promise((resolve) => setImmediate(resolve))
}

/** A connection on which one message has come; no token is left until `allow`. */
async function waiting(t: TestContext, budget: ReadBudget, validUntil = Number.POSITIVE_INFINITY) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const state = { allowed: false, answered: 0, usedBytes: 0, now: 0 }
  const stream = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
  const socket = Object.assign(stream, { setTimeout: () => stream }) as unknown as TLSSocket
  new KmipConnection(
    socket,
    { principal: async () => undefined, validUntil, problem: () => undefined },
    '192.0.2.1',
    {
      engine: {
        async answer() {
          state.answered++
          state.usedBytes = budget.used
          return new Uint8Array(8)
        },
      },
      clock: { ...systemClock, now: () => state.now },
      log: strictLog,
      limits: defaultSocketLimits,
      budget,
      rateLimiter: { take: () => ({ allowed: state.allowed, retryAfterSeconds: 1 }) },
      stages: new RequestBatcher(),
    },
  )
  socket.push(message)
  await turns()
  const tick = async (): Promise<void> => {
    t.mock.timers.tick(1000)
    await turns()
  }
  return { state, socket, tick }
}

test('a message that waits for the rate limiter counts once against the read budget of all connections', async (t) => {
  const budget = { limit: 1 << 20, used: 0 }
  const { state, tick } = await waiting(t, budget)
  assert.deepEqual([budget.used, state.answered], [message.length, 0])
  await tick()
  assert.deepEqual([budget.used, state.answered], [message.length, 0])
  state.allowed = true
  await tick()
  assert.deepEqual([budget.used, state.usedBytes, state.answered], [0, message.length, 1])
})

test('the budget of a waiting message is released when its client disconnects or its certificate expires', async (t) => {
  const budget = { limit: 1 << 20, used: 0 }
  const gone = await waiting(t, budget)
  assert.equal(budget.used, message.length)
  gone.socket.destroy()
  await turns()
  assert.equal(budget.used, 0)
  t.mock.timers.reset()
  const late = await waiting(t, budget, 1000)
  assert.equal(budget.used, message.length)
  Object.assign(late.state, { allowed: true, now: 1000 })
  await late.tick()
  assert.deepEqual([budget.used, gone.state.answered, late.state.answered], [0, 0, 0])
})

test('a message is answered before its connection ends because the next one exceeds the budget', async (t) => {
  const budget = { limit: message.length + 2000, used: 0 }
  const { state, socket, tick } = await waiting(t, budget)
  socket.push(message.subarray(0, 1000))
  await turns()
  socket.push(message.subarray(1000, 4000))
  await turns()
  assert.deepEqual([budget.used, state.answered, socket.writableEnded], [message.length, 0, false])
  state.allowed = true
  await tick()
  assert.deepEqual([budget.used, state.answered, socket.writableEnded], [0, 1, true])
})

test('a connection with many messages yields to others after sixteen of them', async (t) => {
  const { state, socket, tick } = await waiting(t, { limit: 1 << 20, used: 0 })
  state.allowed = true
  await tick()
  const before = state.answered
  socket.push(Buffer.concat(Array(40).fill(message)))
  const inTurn: number[] = []
  for (let answered = before; answered < before + 40 && inTurn.length < 10; answered = state.answered) {
    await new Promise((resolve) => setImmediate(resolve))
    inTurn.push(state.answered - answered)
  }
  assert.equal(state.answered, before + 40)
  assert.ok(
    inTurn.every((count) => count <= 16),
    String(inTurn),
  )
})
