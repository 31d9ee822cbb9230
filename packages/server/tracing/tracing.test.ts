import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '@warder/base/testing'
import type { Outbound } from '@warder/outbound'
import { send } from '@warder/outbound/http-client'
import { createMetrics } from '@warder/runtime'
import { live } from '../http/fixtures/live.ts'
import { defineOperation, get } from '../operations/define.ts'
import { startTraceExport } from './otlp-traces.ts'
import { createTracer, formatContextHeaders, maxWaitingSpans, readTraceContext } from './tracer.ts'

const define = defineOperation<undefined>()
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentId = '00f067aa0ba902b7'
const sampled = `00-${traceId}-${parentId}-01`

test('traceparent is read and written as W3C Trace Context says', () => {
  const read = (traceparent: string, tracestate?: string) => readTraceContext({ traceparent, tracestate })
  assert.deepEqual(read(sampled, 'a=1,b=2'), { traceId, spanId: parentId, sampled: true, state: 'a=1,b=2' })
  assert.equal(read(`00-${traceId}-${parentId}-02`)?.sampled, false)
  assert.equal(read(`cc-${traceId}-${parentId}-01-what-comes-later`)?.traceId, traceId)
  for (const invalid of [
    '',
    sampled.toUpperCase(),
    `${sampled}, ${sampled}`,
    `${sampled}-more`,
    `ff-${traceId}-${parentId}-01`,
    `00-${'0'.repeat(32)}-${parentId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    ` ${sampled}`,
  ])
    assert.equal(read(invalid), undefined, invalid)
  assert.equal(read(sampled, 'a'.repeat(513))?.state, undefined)
  assert.equal(read(sampled, 'a=\r\nb')?.state, undefined)
  const context = { traceId, spanId: parentId, sampled: true, state: 'a=1' }
  assert.deepEqual(formatContextHeaders(context), { traceparent: sampled, tracestate: 'a=1' })
})

interface Sent {
  readonly url: string
  // biome-ignore lint/suspicious/noExplicitAny: the members are what is tested
  readonly body: any
}

/** A collector that answers with these statuses, then with the last of them. */
function collector(...statuses: readonly number[]) {
  const sent: Sent[] = []
  const outbound: Outbound = {
    get: () => assert.fail(),
    async post(url, body) {
      const status = statuses[Math.min(sent.length, statuses.length - 1)] ?? 200
      sent.push({ url, body: JSON.parse(Buffer.from(body).toString()) })
      return { status, headers: {}, body: Buffer.alloc(0) }
    },
    delete: () => assert.fail(),
  }
  return { sent, outbound }
}

function tracing(percent: number, ...statuses: readonly number[]) {
  const metrics = createMetrics()
  const warnings: string[] = []
  const log = { ...quietLog, warn: (_: object, message: string) => void warnings.push(message) }
  const { sent, outbound } = collector(...statuses)
  const onDropped = (): void => metrics.count('trace_spans_dropped_total')
  const tracer = createTracer({ percent, now: Date.now, onDropped })
  const source = { service: 'test', version: '1', node: 'n', thread: 2 }
  const endpoint = 'https://collector.example/'
  const sending = startTraceExport({
    ...source,
    ...{ endpoint, outbound, tracer, everyMs: 3_600_000, log, metrics },
  })
  return { tracer, sending, sent, metrics, warnings }
}

test('a request and the call that it makes are spans of the trace of its caller', async () => {
  const { tracer, sending, sent } = tracing(0)
  await using other = await live({
    services: undefined,
    operations: [
      define({
        name: 'other.show',
        summary: 'x',
        tag: 'x',
        route: get('/other'),
        access: { name: 'anyone', public: true },
        reach: [],
        act: (_, { request }) => ({ traceparent: request.headers.traceparent }),
      }),
    ],
  })
  await using asked = await live({
    tracer,
    services: undefined,
    operations: [
      define({
        name: 'test.call',
        summary: 'x',
        tag: 'x',
        route: get('/call/{name}'),
        access: { name: 'anyone', public: true },
        reach: [],
        async act() {
          // Not at once: the trace is found after something was awaited.
          await new Promise((resolve) => setImmediate(resolve))
          const url = new URL(`https://127.0.0.1:${other.port}/other`)
          const incoming = await send(url, { method: 'GET', rejectUnauthorized: false })
          const parts = await incoming.toArray()
          return JSON.parse(Buffer.concat(parts).toString()) as { traceparent?: string }
        },
      }),
    ],
  })
  const { json } = await asked.call('GET', '/call/secret', { headers: { traceparent: sampled } })
  await asked.call('GET', '/call/untraced')
  const unsampled = await asked.call('GET', '/call/x', {
    headers: { traceparent: sampled.replace(/01$/, '00') },
  })
  assert.match(unsampled.json.traceparent, new RegExp(`^00-${traceId}-(?!${parentId})[0-9a-f]{16}-00$`))
  await sending.stop()
  assert.equal(sent.length, 1)
  assert.equal(sent[0]?.url, 'https://collector.example/v1/traces')
  const [{ resource, scopeSpans }] = sent[0]?.body.resourceSpans ?? []
  assert.deepEqual(
    resource.attributes.map(({ value }: { value: { stringValue: string } }) => value.stringValue),
    ['warder-test', '1', 'n/2'],
  )
  const spans = scopeSpans[0].spans
  assert.equal(spans.length, 2)
  const [call, request] = spans
  assert.deepEqual([request.name, request.kind, request.traceId], ['test.call', 2, traceId])
  assert.equal(request.parentSpanId, parentId)
  assert.deepEqual([call.name, call.kind, call.parentSpanId], ['GET', 3, request.spanId])
  assert.equal(json.traceparent, `00-${traceId}-${call.spanId}-01`)
  assert.ok(BigInt(request.startTimeUnixNano) <= BigInt(call.startTimeUnixNano))
  assert.ok(BigInt(call.endTimeUnixNano) <= BigInt(request.endTimeUnixNano))
  const attribute = (name: string) =>
    request.attributes.find(({ key }: { key: string }) => key === name)?.value
  assert.deepEqual(attribute('http.route'), { stringValue: '/call/{name}' })
  assert.deepEqual(attribute('http.response.status_code'), { intValue: '200' })
  assert.doesNotMatch(JSON.stringify(spans), /secret/)
})

const answered = {
  operation: 'x',
  method: 'GET',
  route: '/x',
  status: 200,
  requestId: 'r',
  durationMs: 1,
} as const

test('a share of the requests without a traceparent is traced; what is too much is dropped and counted', async () => {
  const { tracer, metrics } = tracing(100)
  for (let index = 0; index < maxWaitingSpans + 3; index++) tracer.begin({})?.end(answered)
  assert.equal(tracer.take(10).length, 10)
  assert.equal(tracer.take(maxWaitingSpans).length, maxWaitingSpans - 10)
  assert.match(await metrics.exposition(), /trace_spans_dropped_total 3\n/)
  assert.equal(createTracer({ percent: 0, now: Date.now, onDropped() {} }).begin({}), undefined)
})

test('a collector that refuses costs its spans and one line, until it takes some again', async () => {
  const { tracer, sending, sent, metrics, warnings } = tracing(100, 503, 503, 200, 503)
  for (let round = 0; round < 4; round++) {
    tracer.begin({})?.end({ ...answered, status: 500 })
    await sending.exportNow()
  }
  await sending.stop()
  assert.equal(sent.length, 4)
  assert.deepEqual(sent[0]?.body.resourceSpans[0].scopeSpans[0].spans[0].status, { code: 2 })
  assert.match(await metrics.exposition(), /trace_spans_dropped_total 3\n/)
  assert.equal(warnings.length, 2)
})
