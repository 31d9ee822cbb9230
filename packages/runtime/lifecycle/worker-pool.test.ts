import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { quietLog } from '@warder/base/testing'
import { startWorkerPool, type WorkerHandle, type WorkerPoolOptions } from './worker.ts'

interface Fake extends WorkerHandle {
  end(): void
  readonly drains: number[]
  readonly spreads: number[]
}

function fakeWorker(index: number, listening: Promise<number>): Fake {
  let end: (code: number) => void = () => undefined
  const gone = new Promise<number>((resolve) => {
    end = resolve
  })
  const drains: number[] = []
  const spreads: number[] = []
  return {
    index,
    listening,
    gone,
    setTls() {},
    metrics: async () => ({ index }),
    busy: () => index / 10,
    spread: (share) => void spreads.push(share),
    drain: async (timeoutMs) => void drains.push(timeoutMs),
    end: () => end(1),
    drains,
    spreads,
  }
}

test('a worker that ends is replaced, and one that keeps ending makes the service give up', async () => {
  const hired: Fake[] = []
  const reasons: string[] = []
  await startWorkerPool({
    size: 2,
    log: quietLog,
    start(index) {
      const worker = fakeWorker(index, Promise.resolve(1))
      hired.push(worker)
      return worker
    },
    onGiveUp: (reason) => reasons.push(reason),
  })
  for (let round = 0; round < 6; round += 1) {
    hired.at(-1)?.end()
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(hired.length, 2 + 5)
  assert.equal(reasons.length, 1)
})

/** A team of one whose replacements start as `starts` says, one after the other; those that cannot, end. */
async function teamOfOne(starts: readonly boolean[], wait?: WorkerPoolOptions['wait']) {
  const hired: Fake[] = []
  const reasons: string[] = []
  const waits: number[] = []
  const team = await startWorkerPool({
    size: 1,
    log: quietLog,
    start(index) {
      const starting = hired.length === 0 || starts[hired.length - 1] === true
      const listening = starting ? Promise.resolve(1) : Promise.reject(new Error('no database'))
      const worker = fakeWorker(index, listening)
      if (!starting) worker.end()
      hired.push(worker)
      return worker
    },
    onGiveUp: (reason) => reasons.push(reason),
    wait: wait ?? (async (ms) => void waits.push(ms)),
  })
  const endLast = async (): Promise<void> => {
    hired.at(-1)?.end()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { team, hired, reasons, waits, endLast }
}

test('a replacement that cannot start is followed by another, later each time, until one serves', async () => {
  const { hired, reasons, waits, endLast } = await teamOfOne([false, false, true, true])
  await endLast()
  assert.equal(hired.length, 1 + 3)
  assert.deepEqual(waits, [1000, 2000])
  await endLast()
  assert.equal(hired.length, 1 + 4, 'one that served is replaced at once')
  assert.deepEqual(waits, [1000, 2000])
  assert.deepEqual(reasons, [])
})

test('replacements that never start make the service give up, however long each of them takes', async (context) => {
  let now = 0
  context.mock.method(performance, 'now', () => {
    now += 61_000
    return now
  })
  const { hired, reasons, waits, endLast } = await teamOfOne([])
  await endLast()
  assert.equal(hired.length, 1 + 5)
  assert.deepEqual(waits, [1000, 2000, 4000, 8000])
  assert.deepEqual(reasons, ['workers could not start 5 times in a row'])
})

test('a team that is drained between two starts waits no longer and starts none again', async () => {
  let waited = false
  const { team, hired, endLast } = await teamOfOne([], async (_ms, signal) => {
    await once(signal, 'abort')
    waited = true
  })
  await endLast()
  assert.equal(hired.length, 2)
  assert.deepEqual(await team.metrics(), [], 'the one that is gone is not asked')
  await team.drain(0)
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok(waited)
  assert.equal(hired.length, 2)
})

test('one worker that cannot start takes the others back and its reason is thrown', async () => {
  const hired: Fake[] = []
  const refused = startWorkerPool({
    size: 2,
    log: quietLog,
    start(index) {
      const worker = fakeWorker(
        index,
        index === 1 ? Promise.reject(new Error('no certificate')) : Promise.resolve(1),
      )
      hired.push(worker)
      return worker
    },
    onGiveUp: () => undefined,
  })
  await assert.rejects(refused, /no certificate/)
  assert.deepEqual(
    hired.map(({ drains }) => drains),
    [[0], [0]],
  )
})

test('draining waits for every worker and starts none again', async () => {
  const hired: Fake[] = []
  const team = await startWorkerPool({
    size: 3,
    log: quietLog,
    start(index) {
      const worker = fakeWorker(index, Promise.resolve(1))
      hired.push(worker)
      return worker
    },
    onGiveUp: () => undefined,
  })
  assert.deepEqual(await team.metrics(), [{ index: 0 }, { index: 1 }, { index: 2 }])
  await team.drain(500)
  for (const worker of hired) worker.end()
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(hired.length, 3)
  assert.ok(hired.every(({ drains }) => drains[0] === 500))
})

test('a worker that is added takes its share of the connections, is replaced and drained as the others', async () => {
  const hired: Fake[] = []
  const team = await startWorkerPool({
    size: 1,
    log: quietLog,
    start(index) {
      const listening = hired.length === 1 ? Promise.reject(new Error('no memory')) : Promise.resolve(1)
      const worker = fakeWorker(index, listening)
      hired.push(worker)
      return worker
    },
    onGiveUp: () => undefined,
  })
  await assert.rejects(team.scaleUp(), { message: 'no memory' })
  assert.deepEqual([team.size(), hired[0]?.spreads], [1, []])
  await team.scaleUp()
  assert.deepEqual([team.size(), team.busy(), hired[0]?.spreads], [2, 0.1, [0.5]])
  hired[2]?.end()
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(hired[3]?.index, 1)
  await team.drain(5)
  assert.deepEqual([hired[0]?.drains, hired[3]?.drains], [[5], [5]])
})
