import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Logger } from '@warder/base'
import type { Outbound } from '@warder/outbound'
import { createMetrics } from '@warder/runtime'
import { startOtlpExport } from './otlp-metrics.ts'

interface Point {
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue: string } }[]
  readonly asDouble?: number
  readonly count?: string
  readonly explicitBounds?: readonly number[]
  readonly bucketCounts?: readonly string[]
}
interface Sent {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly {
      readonly metrics: readonly {
        readonly name: string
        readonly sum?: { readonly dataPoints: readonly Point[]; readonly isMonotonic: boolean }
        readonly histogram?: { readonly dataPoints: readonly Point[] }
        readonly gauge?: { readonly dataPoints: readonly Point[] }
      }[]
    }[]
  }[]
}

function collector(status: number) {
  const requests: { url: string; body: Sent }[] = []
  const outbound: Outbound = {
    get: async () => ({ status, headers: {}, body: Buffer.alloc(0) }),
    async post(url, body) {
      requests.push({ url, body: JSON.parse(Buffer.from(body).toString()) as Sent })
      return { status, headers: {}, body: Buffer.alloc(0) }
    },
    delete: () => assert.fail(),
  }
  return { requests, outbound }
}

function exporter(status: number) {
  const metrics = createMetrics()
  const warnings: string[] = []
  const log: Logger = {
    debug() {},
    info() {},
    warn: (_, message) => warnings.push(message),
    error() {},
    child: () => log,
  }
  const { requests, outbound } = collector(status)
  const started = startOtlpExport({
    endpoint: 'https://collector.example/otlp/',
    outbound,
    service: 'kms',
    version: '1',
    node: 'n',
    everySeconds: 3600,
    collect: async () => [await metrics.snapshot(), undefined],
    now: () => 1_700_000_000_000,
    log,
  })
  return { metrics, warnings, requests, started }
}

test('counters, gauges and histograms are sent as OTLP says', async () => {
  const { metrics, requests, started } = exporter(200)
  metrics.operation('crypto.encrypt', 200, 1.5)
  metrics.operation('crypto.encrypt', 200, 20_000)
  metrics.gauge('in_flight', 'x', () => 3)
  await started.exportNow()
  started.stop()
  const [request] = requests
  assert.equal(request?.url, 'https://collector.example/otlp/v1/metrics')
  assert.equal(request.body.resourceMetrics.length, 1)
  const all = request.body.resourceMetrics[0]?.scopeMetrics[0]?.metrics ?? []
  const total = all.find(({ name }) => name === 'warder_operations_total')
  assert.deepEqual([total?.sum?.isMonotonic, total?.sum?.dataPoints[0]?.asDouble], [true, 2])
  assert.deepEqual(total?.sum?.dataPoints[0]?.attributes[0], {
    key: 'operation',
    value: { stringValue: 'crypto.encrypt' },
  })
  assert.equal(all.find(({ name }) => name === 'warder_in_flight')?.gauge?.dataPoints[0]?.asDouble, 3)
  const [point] =
    all.find(({ name }) => name === 'warder_operation_duration_seconds')?.histogram?.dataPoints ?? []
  assert.equal(point?.count, '2')
  assert.equal(point?.bucketCounts?.length, (point?.explicitBounds?.length ?? 0) + 1)
  assert.equal(
    point?.bucketCounts?.map(Number).reduce((sum, value) => sum + value),
    2,
  )
  assert.equal(point?.bucketCounts?.at(-1), '1', 'what is over the last bound stands in the last bucket')
})

test('a collector that refuses is logged and nothing else', async () => {
  const { warnings, started } = exporter(503)
  await started.exportNow()
  started.stop()
  assert.deepEqual(warnings, ['metrics could not be sent to the OTLP collector'])
})
