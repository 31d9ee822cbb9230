import type { Logger } from '@warder/base'
import type { Outbound } from '@warder/outbound'

/** Sender to the collector. */
export interface OtlpSource {
  readonly service: string
  readonly version: string
  readonly node: string
  readonly thread: number
}

export interface OtlpOptions extends Omit<OtlpSource, 'thread'> {
  /** Base URL of a collector; `/v1/metrics` is added (OTLP/HTTP 1.5, JSON encoding). */
  readonly endpoint: string
  readonly outbound: Outbound
  readonly everySeconds: number
  /** Snapshots of all threads, from `ThreadMetrics.snapshot`. */
  collect(): Promise<readonly unknown[]>
  readonly now: () => number
  readonly log: Logger
}

/** A metric as prom-client's JSON has it. */
interface PromMetric {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly {
    readonly value: number
    readonly labels: Readonly<Record<string, string | number>>
    readonly metricName?: string
  }[]
}

const cumulative = 2

/**
 * Sends the metrics to a collector again and again. A failure is logged and never reaches a request.
 */
export function startOtlpExport(options: OtlpOptions): { stop(): void; exportNow(): Promise<void> } {
  const startedAt = options.now()
  const url = `${options.endpoint.replace(/\/+$/, '')}/v1/metrics`
  const exportNow = async (): Promise<void> => {
    try {
      const body = toOtlpMetrics(await options.collect(), { ...options, startedAt, at: options.now() })
      const answer = await options.outbound.post(url, Buffer.from(JSON.stringify(body)), {
        headers: { 'content-type': 'application/json' },
      })
      if (answer.status >= 300) throw new Error(`the collector responded with status ${answer.status}`)
    } catch (error) {
      options.log.warn({ error }, 'metrics could not be sent to the OTLP collector')
    }
  }
  let busy = false
  const timer = setInterval(() => {
    if (busy) return
    busy = true
    void exportNow().finally(() => {
      busy = false
    })
  }, options.everySeconds * 1000)
  timer.unref()
  return { stop: () => clearInterval(timer), exportNow }
}

interface OtlpContext extends Omit<OtlpSource, 'thread'> {
  readonly startedAt: number
  readonly at: number
}

/** An ExportMetricsServiceRequest in JSON. Each thread is a resource of its own: counters of threads are not mixed. */
function toOtlpMetrics(snapshots: readonly unknown[], context: OtlpContext): unknown {
  const times = {
    startTimeUnixNano: toNanoseconds(context.startedAt),
    timeUnixNano: toNanoseconds(context.at),
  }
  return {
    resourceMetrics: snapshots.filter(isSnapshot).map((snapshot, thread) => ({
      resource: toResource({ ...context, thread }),
      scopeMetrics: [
        { scope: { name: 'warder' }, metrics: snapshot.map((metric) => toMetric(metric, times)) },
      ],
    })),
  }
}

/** The resource of a thread. */
export function toResource({ service, version, node, thread }: OtlpSource): unknown {
  return {
    attributes: toAttributes({
      'service.name': `warder-${service}`,
      'service.version': version,
      'service.instance.id': `${node}/${thread}`,
    }),
  }
}

function isSnapshot(value: unknown): value is readonly PromMetric[] {
  return Array.isArray(value)
}

type Times = Readonly<Record<'startTimeUnixNano' | 'timeUnixNano', string>>

function toMetric(metric: PromMetric, times: Times): unknown {
  const head = { name: metric.name, description: metric.help }
  const points = metric.values.map(({ value, labels }) => ({
    ...times,
    asDouble: value,
    attributes: toAttributes(labels),
  }))
  if (metric.type === 'counter')
    return { ...head, sum: { aggregationTemporality: cumulative, isMonotonic: true, dataPoints: points } }
  if (metric.type !== 'histogram') return { ...head, gauge: { dataPoints: points } }
  return {
    ...head,
    histogram: { aggregationTemporality: cumulative, dataPoints: toHistogramPoints(metric, times) },
  }
}

/** prom-client lists cumulative buckets, sum and count one by one; OTLP wants them together and not cumulative. */
function toHistogramPoints(metric: PromMetric, times: Times): unknown[] {
  const series = new Map<
    string,
    {
      labels: Readonly<Record<string, string | number>>
      bounds: number[]
      counts: number[]
      sum: number
      count: number
    }
  >()
  for (const { labels, value, metricName = '' } of metric.values) {
    const { le, ...own } = labels
    const key = JSON.stringify(own)
    const one = series.get(key) ?? { labels: own, bounds: [], counts: [], sum: 0, count: 0 }
    series.set(key, one)
    if (metricName.endsWith('_sum')) one.sum = value
    else if (metricName.endsWith('_count')) one.count = value
    else if (le !== '+Inf' && le !== undefined) {
      one.bounds.push(Number(le))
      one.counts.push(value)
    }
  }
  return [...series.values()].map(({ labels, bounds, counts, sum, count }) => ({
    ...times,
    attributes: toAttributes(labels),
    count: String(count),
    sum,
    explicitBounds: bounds,
    bucketCounts: [...counts, count].map((value, index, all) => String(value - (all[index - 1] ?? 0))),
  }))
}

/** Attributes in proto3's JSON, in which 64-bit integers are texts. */
export function toAttributes(values: Readonly<Record<string, string | number>>): unknown[] {
  return Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }))
}

/** Unix nanoseconds as a decimal text (64-bit integers are texts in proto3's JSON). */
function toNanoseconds(milliseconds: number): string {
  return `${Math.trunc(milliseconds)}000000`
}
