import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Logger } from '../telemetry/types.ts'
import { startTeam } from './team.ts'
import type { WorkerHandle } from './worker.ts'

const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet }

interface Fake extends WorkerHandle {
  end(): void
  readonly drains: number[]
}

function fakeWorker(index: number, listening: Promise<number>): Fake {
  let end: (code: number) => void = () => undefined
  const gone = new Promise<number>((resolve) => {
    end = resolve
  })
  const drains: number[] = []
  return {
    index,
    listening,
    gone,
    setTls() {},
    metrics: async () => ({ index }),
    drain: async (timeoutMs) => void drains.push(timeoutMs),
    end: () => end(1),
    drains,
  }
}

test('a worker that ends is replaced, and one that keeps ending makes the service give up', async () => {
  const hired: Fake[] = []
  const reasons: string[] = []
  await startTeam({
    size: 2,
    log: quiet,
    start(index) {
      const worker = fakeWorker(index, Promise.resolve(1))
      hired.push(worker)
      return worker
    },
    onGivingUp: (reason) => reasons.push(reason),
  })
  for (let round = 0; round < 6; round += 1) {
    hired.at(-1)?.end()
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(hired.length, 2 + 5)
  assert.equal(reasons.length, 1)
})

test('one worker that cannot start takes the others back and its reason is thrown', async () => {
  const hired: Fake[] = []
  const refused = startTeam({
    size: 2,
    log: quiet,
    start(index) {
      const worker = fakeWorker(
        index,
        index === 1 ? Promise.reject(new Error('no certificate')) : Promise.resolve(1),
      )
      hired.push(worker)
      return worker
    },
    onGivingUp: () => undefined,
  })
  await assert.rejects(refused, /no certificate/)
  assert.deepEqual(
    hired.map(({ drains }) => drains),
    [[0], [0]],
  )
})

test('draining waits for every worker and starts none again', async () => {
  const hired: Fake[] = []
  const team = await startTeam({
    size: 3,
    log: quiet,
    start(index) {
      const worker = fakeWorker(index, Promise.resolve(1))
      hired.push(worker)
      return worker
    },
    onGivingUp: () => undefined,
  })
  assert.deepEqual(await team.metrics(), [{ index: 0 }, { index: 1 }, { index: 2 }])
  await team.drain(500)
  for (const worker of hired) worker.end()
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(hired.length, 3)
  assert.ok(hired.every(({ drains }) => drains[0] === 500))
})
