import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { createConnections, startIdleSweep } from './connections.ts'

/** A connection as the sweep sees it. */
interface Watched {
  bytesRead: number
  writableLength: number
  destroyed: boolean
  timeout: number
}

function createWatchedSweep(): Watched & Socket {
  const socket = {
    bytesRead: 0,
    writableLength: 0,
    destroyed: false,
    timeout: 0,
    remoteAddress: '192.0.2.1',
    once: () => socket,
    setTimeout(milliseconds: number) {
      socket.timeout = milliseconds
    },
    destroy() {
      socket.destroyed = true
    },
  }
  return socket as unknown as Watched & Socket
}

test('a kept connection ends when nothing moved for its time, and not before', (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const connections = createConnections()
  const [idle, sending, slowReader, answered, fresh] = [
    createWatchedSweep(),
    createWatchedSweep(),
    createWatchedSweep(),
    createWatchedSweep(),
    createWatchedSweep(),
  ]
  for (const socket of [idle, sending, slowReader, answered]) connections.get(socket)
  connections.get(answered).open = 1
  slowReader.writableLength = 100
  const stop = startIdleSweep(connections, { keptMs: 60_000, stalledMs: 300_000 })
  for (let second = 0; second < 60; second += 5) {
    sending.bytesRead += 1
    context.mock.timers.tick(5000)
    assert.equal(idle.destroyed, false, `after ${second + 5} s`)
  }
  context.mock.timers.tick(5000)
  assert.equal(idle.destroyed, true)
  const still = (): boolean[] => [sending, slowReader, answered, fresh].map(({ destroyed }) => destroyed)
  assert.deepEqual(still(), [false, false, false, false])
  // The reply is sent: its time begins now.
  connections.get(answered).open = 0
  context.mock.timers.tick(55_000)
  assert.deepEqual(still(), [false, false, false, false])
  context.mock.timers.tick(15_000)
  // Connections that read slowly, or have not sent a request yet, fall under other limits.
  assert.deepEqual(still(), [true, false, true, false])
  assert.deepEqual([slowReader.timeout, answered.timeout, fresh.timeout], [300_000, 0, 0])
  slowReader.writableLength = 0
  context.mock.timers.tick(5000)
  assert.equal(slowReader.timeout, 0, 'it was taken')
  stop()
})
