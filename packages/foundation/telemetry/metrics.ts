import { AggregatorRegistry, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Metrics } from './types.ts'

const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

/** Metrics of one thread. `snapshot` crosses threads; `mergeMetrics` makes one text of several. */
export interface ThreadMetrics extends Metrics {
  snapshot(): Promise<unknown>
}

interface Sums {
  /** By status; a bounded set, as names and statuses are. */
  readonly byStatus: Map<number, number>
  readonly durations: number[]
}

/** Durations kept for an operation until they are put into the histogram, at the latest when scraped. */
const mostPending = 1024

export function createMetrics(): ThreadMetrics {
  const registry = new Registry()
  const operations = new Counter({
    name: 'warder_operations_total',
    help: 'Operations answered, by name and HTTP status.',
    labelNames: ['operation', 'status'],
    registers: [registry],
  })
  const durations = new Histogram({
    name: 'warder_operation_duration_seconds',
    help: 'Time from the first byte of a request to its reply.',
    labelNames: ['operation'],
    buckets,
    registers: [registry],
  })
  const pending = new Map<string, Sums>()
  const counters = new Map<string, Counter>()
  const settle = (name: string, sums: Sums): void => {
    for (const [status, count] of sums.byStatus)
      operations.inc({ operation: name, status: String(status) }, count)
    sums.byStatus.clear()
    for (const seconds of sums.durations) durations.observe({ operation: name }, seconds)
    sums.durations.length = 0
  }
  const settleAll = (): void => {
    for (const [name, sums] of pending) settle(name, sums)
  }
  return {
    operation(name, status, durationMs) {
      // The hot path only adds to plain numbers; label hashing waits for the settling.
      let sums = pending.get(name)
      if (sums === undefined) {
        sums = { byStatus: new Map(), durations: [] }
        pending.set(name, sums)
      }
      sums.byStatus.set(status, (sums.byStatus.get(status) ?? 0) + 1)
      sums.durations.push(durationMs / 1000)
      if (sums.durations.length >= mostPending) settle(name, sums)
    },
    count(name, labels = {}, by = 1) {
      let counter = counters.get(name)
      if (counter === undefined) {
        counter = new Counter({
          name: `warder_${name}`,
          help: name,
          labelNames: Object.keys(labels),
          registers: [registry],
        })
        counters.set(name, counter)
      }
      counter.inc({ ...labels }, by)
    },
    gauge(name, help, read) {
      new Gauge({
        name: `warder_${name}`,
        help,
        registers: [registry],
        collect() {
          this.set(read())
        },
      })
    },
    async exposition() {
      settleAll()
      return registry.metrics()
    },
    async snapshot() {
      settleAll()
      return registry.getMetricsAsJSON()
    },
  }
}

/** One Prometheus text (0.0.4) of several threads' snapshots; counters and histograms are added up. */
export async function mergeMetrics(snapshots: readonly unknown[]): Promise<string> {
  const known = snapshots.filter((snapshot) => Array.isArray(snapshot)) as object[]
  return AggregatorRegistry.aggregate(known as never).metrics()
}
