import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoizeFor, Secret } from '@warder/base'
import { createLogger } from './logger.ts'
import { createMetrics, mergeMetrics } from './metrics.ts'

function captureLog(write: (log: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = []
  write(createLogger({ level: 'info', service: 'kms', write: (line) => lines.push(line) }))
  return lines.join('')
}

test('nothing secret reaches the log, by type or by name, at any depth', () => {
  const text = captureLog((log) =>
    log.info(
      {
        key: Secret.fromText('hunter2'),
        bytes: Buffer.from('hunter2'),
        request: {
          password: 'hunter2',
          Authorization: 'hunter2',
          'X-Secret-Token': 'hunter2',
          deep: [{ secret_id: 'hunter2' }],
        },
        jwk: { kty: 'oct', k: 'hunter2', kid: 'shown' },
      },
      'message',
    ),
  )
  assert.ok(!text.includes('hunter2') && !text.includes(Buffer.from('hunter2').toString('base64')), text)
  assert.match(text, /"kid":"shown"/)
  assert.match(text, /\[7 bytes\]/)
})

test('a line is one line of JSON, whatever is in it', () => {
  const text = captureLog((log) => log.child({ worker: 1 }).warn({ name: 'a\nb\u001b[31m' }, 'mess\nage'))
  assert.equal(text.trimEnd().split('\n').length, 1)
  const line = JSON.parse(text) as Record<string, unknown>
  assert.deepEqual([line.level, line.service, line.worker, line.name], ['warn', 'kms', 1, 'a\nb\u001b[31m'])
})

test('an error shows its name, message and cause, not what else it carries; cycles and depth are bounded', () => {
  const error = Object.assign(new Error('outer', { cause: new Error('inner') }), { requestBody: 'hunter2' })
  const cycle: Record<string, unknown> = {}
  cycle.self = cycle
  const text = captureLog((log) => log.error({ error, cycle }, 'failed'))
  assert.match(text, /outer.*inner/)
  assert.ok(!text.includes('hunter2'))
})

test('below the level nothing is written', () => {
  assert.equal(
    captureLog((log) => log.debug({}, 'x')),
    '',
  )
})

test('metrics of several threads add up to one Prometheus text', async () => {
  const [one, two] = [createMetrics(), createMetrics()]
  for (let count = 0; count < 1500; count += 1) one.operation('crypto.encrypt', 200, 1)
  two.operation('crypto.encrypt', 200, 3)
  two.operation('crypto.encrypt', 422, 3)
  two.count('audit_lost_total')
  one.gauge('in_flight', 'Requests being answered.', () => 7)
  const text = await mergeMetrics([await one.snapshot(), await two.snapshot(), undefined])
  assert.match(text, /warder_operations_total\{operation="crypto.encrypt",status="200"\} 1501/)
  assert.match(text, /warder_operations_total\{operation="crypto.encrypt",status="422"\} 1/)
  assert.match(text, /warder_operation_duration_seconds_count\{operation="crypto.encrypt"\} 1502/)
  assert.match(text, /warder_audit_lost_total 1/)
  assert.match(text, /warder_in_flight 7/)
  assert.match(await one.exposition(), /status="200"\} 1500/)
})

test('numbers that are read when scraped may wait and have a label; one that fails is left out', async () => {
  const metrics = createMetrics()
  let broken = false
  metrics.collected('objects', {
    type: 'gauge',
    help: 'x',
    label: 'state',
    read: async () => (broken ? Promise.reject(new Error('away')) : { Active: 3, Destroyed: 1 }),
  })
  metrics.collected('uses_total', { type: 'counter', help: 'x', read: async () => 7 })
  const first = await mergeMetrics([await metrics.snapshot(), await metrics.snapshot()])
  assert.match(first, /# TYPE warder_uses_total counter\nwarder_uses_total 14\n/)
  assert.match(first, /warder_objects\{state="Active"\} 6\n/)
  broken = true
  const second = await metrics.exposition()
  assert.doesNotMatch(second, /warder_objects\{/)
  assert.match(second, /warder_uses_total 7\n/)
})

test('a reading can be kept for as long as it took', async () => {
  let [now, reads] = [0, 0]
  const read = memoizeFor(
    async () => {
      now += 5_000
      reads += 1
      return reads
    },
    1_000,
    () => now,
    1,
  )
  await read()
  now = 5_001
  assert.equal(await read(), 2)
})

test('a costly reading is kept for its time, and for a hundred times what it took', async () => {
  let [now, reads, tookMs] = [0, 0, 10]
  const read = memoizeFor(
    async () => {
      reads += 1
      now += tookMs
      if (reads === 3) throw new Error('away')
      return reads
    },
    60_000,
    () => now,
  )
  assert.deepEqual(await Promise.all([read(), read()]), [1, 1])
  now = 59_999
  assert.equal(await read(), 1)
  now = 60_000
  tookMs = 1_000
  assert.equal(await read(), 2)
  now = 159_999
  assert.equal(await read(), 2)
  now = 160_000
  await assert.rejects(read(), /away/)
  assert.equal(await read(), 4)
})
