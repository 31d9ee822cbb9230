import type { Clock, Logger, Metrics } from '@warder/base'
import type { Outbound } from '@warder/outbound'
import { type OtlpSource, toAttributes, toResource } from './otlp-metrics.ts'
import { createTracer, type Span, type Tracer } from './tracer.ts'

interface TraceExportOptions extends OtlpSource {
  /** Base URL of a collector; `/v1/traces` is added (OTLP/HTTP 1.5, JSON encoding). */
  readonly endpoint: string
  readonly outbound: Outbound
  readonly tracer: Tracer
  readonly everyMs: number
  readonly log: Logger
  readonly metrics: Metrics
}

/** Spans of one request to the collector. */
const batchSize = 1024

interface TraceExport {
  /** Sends waiting spans. Never rejects. */
  exportNow(): Promise<void>
  /** Sends waiting spans, and ends. */
  stop(): Promise<void>
}

/** Sends finished spans to a collector again and again. Rejected spans are counted and discarded. */
export function startTraceExport(options: TraceExportOptions): TraceExport {
  const { outbound, tracer, log, metrics } = options
  const url = `${options.endpoint.replace(/\/+$/, '')}/v1/traces`
  let failing = false
  const post = async (spans: readonly Span[]): Promise<boolean> => {
    try {
      const body = Buffer.from(JSON.stringify(toOtlpTraces(spans, options)))
      const { status } = await outbound.post(url, body, { headers: { 'content-type': 'application/json' } })
      if (status >= 300) throw new Error(`the collector responded with status ${status}`)
      failing = false
      return true
    } catch (error) {
      metrics.count('trace_spans_dropped_total', {}, spans.length)
      // Once until it works again: with a line for each try the log would be full of them.
      if (!failing) log.warn({ error }, 'traces could not be sent to the OTLP collector')
      failing = true
      return false
    }
  }
  const sendWaiting = async (): Promise<void> => {
    for (let spans = tracer.take(batchSize); spans.length > 0; spans = tracer.take(batchSize))
      if (!(await post(spans))) return
  }
  let sending: Promise<void> | undefined
  const exportNow = (): Promise<void> => {
    sending ??= sendWaiting().finally(() => {
      sending = undefined
    })
    return sending
  }
  const timer = setInterval(() => void exportNow(), options.everyMs)
  timer.unref()
  return {
    exportNow,
    async stop() {
      clearInterval(timer)
      await sending
      await exportNow()
    },
  }
}

/** Numbers of `SpanKind` and of `StatusCode` in opentelemetry/proto/trace/v1/trace.proto. */
const kinds = { internal: 1, server: 2, client: 3 } as const
const failedStatus = 2

/** An ExportTraceServiceRequest in JSON, in which ids are hexadecimal. */
function toOtlpTraces(spans: readonly Span[], source: OtlpSource): unknown {
  const encoded = spans.map((span) => ({
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId !== undefined && { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: kinds[span.kind],
    startTimeUnixNano: toNanoseconds(span.startMs),
    endTimeUnixNano: toNanoseconds(span.endMs),
    attributes: toAttributes(span.attributes),
    ...(span.failed && { status: { code: failedStatus } }),
  }))
  const scopeSpans = [{ scope: { name: 'warder' }, spans: encoded }]
  return { resourceSpans: [{ resource: toResource(source), scopeSpans }] }
}

/** Unix nanoseconds, exact to a microsecond. */
const toNanoseconds = (milliseconds: number): string => `${Math.round(milliseconds * 1000)}000`

/** Maximum deviation of the wall clock from the measured time before the wall clock is used again. */
const maxDriftMs = 5

/**
 * Unix milliseconds with fractions: a commit takes less than one. Follows the wall clock when it is set.
 * @returns the time of now
 */
export function createExactTime({ now, monotonic }: Clock): () => number {
  let ahead = now() - monotonic()
  return () => {
    const wall = now()
    const exact = monotonic() + ahead
    if (Math.abs(wall - exact) <= maxDriftMs) return exact
    ahead = wall - monotonic()
    return wall
  }
}

const sendEveryMs = 2_000

interface Tracing {
  readonly tracer: Tracer
  /** Sends waiting spans, and ends. */
  stop(): Promise<void>
}

/** @returns undefined if the settings do not enable traces: nothing is recorded then, without any overhead */
export function startTracing(
  options: Omit<TraceExportOptions, 'endpoint' | 'tracer' | 'everyMs'> & {
    readonly endpoint: string | undefined
    /** 0 = none. */
    readonly percent: number
    readonly clock: Clock
  },
): Tracing | undefined {
  const { endpoint, percent, clock, metrics } = options
  if (endpoint === undefined || percent === 0) return undefined
  const tracer = createTracer({
    percent,
    now: createExactTime(clock),
    onDropped: () => metrics.count('trace_spans_dropped_total'),
  })
  const sending = startTraceExport({ ...options, endpoint, tracer, everyMs: sendEveryMs })
  return { tracer, stop: () => sending.stop() }
}
