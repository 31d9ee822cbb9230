import type { Collected, Metrics } from '@warder/base'
import { AggregatorRegistry, Counter, Gauge, type Metric, Registry } from 'prom-client'

/** Upper bounds in seconds; slower requests count only in `+Inf`. */
export const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

/** Durations of one operation. */
interface Durations {
  add(seconds: number): void
}

/**
 * A Prometheus histogram of durations by operation, registered like any other metric. The histogram of `prom-client`
 * looks up its labels for each value; this one looks up an operation once and then only adds two numbers.
 */
export function createDurations(
  name: string,
  help: string,
  registry: Registry,
): { of(operation: string): Durations } {
  const histograms = new Map<string, DurationHistogram>()
  const metric = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    get: () => {
      const values = [...histograms].flatMap(([operation, histogram]) => histogram.values(name, operation))
      return Promise.resolve({ name, help, type: 'histogram', aggregator: 'sum', values })
    },
  }
  // The registry calls nothing but `get`; its type requires one of its own classes.
  registry.registerMetric(metric as unknown as Metric)
  return {
    of(operation) {
      let histogram = histograms.get(operation)
      if (histogram === undefined) {
        histogram = new DurationHistogram()
        histograms.set(operation, histogram)
      }
      return histogram
    },
  }
}

class DurationHistogram implements Durations {
  /** Not yet cumulative: values up to each bound and above the one before; the last, above all. */
  readonly #counts: number[] = Array.from({ length: bounds.length + 1 }, () => 0)
  #sum = 0

  add(seconds: number): void {
    let index = 0
    while (index < bounds.length && seconds > (bounds[index] as number)) index += 1
    this.#counts[index] = (this.#counts[index] as number) + 1
    this.#sum += seconds
  }

  /** As the text format wants them: cumulative counts, then the sum and the count. */
  values(name: string, operation: string) {
    let count = 0
    const buckets = this.#counts.map((more, index) => {
      count += more
      return {
        labels: { le: bounds[index] ?? '+Inf', operation },
        value: count,
        metricName: `${name}_bucket`,
      }
    })
    return [
      ...buckets,
      { labels: { operation }, value: this.#sum, metricName: `${name}_sum` },
      { labels: { operation }, value: count, metricName: `${name}_count` },
    ]
  }
}

/** Metrics of one thread. `snapshot` crosses threads; `mergeMetrics` makes one text of several. */
export interface ThreadMetrics extends Metrics {
  snapshot(): Promise<unknown>
}

interface Sums {
  /** By status, since they were last put into the counter; a bounded set, as names and statuses are. */
  readonly byStatus: Map<number, number>
  readonly durations: Durations
}

export function createMetrics(): ThreadMetrics {
  const registry = new Registry()
  const operations = new Counter({
    name: 'warder_operations_total',
    help: 'Completed operations, by name and HTTP status.',
    labelNames: ['operation', 'status'],
    registers: [registry],
  })
  const durations = createDurations(
    'warder_operation_duration_seconds',
    'Time from the first byte of a request to its reply.',
    registry,
  )
  const pending = new Map<string, Sums>()
  const counters = new Map<string, Counter>()
  const settle = (name: string, sums: Sums): void => {
    for (const [status, count] of sums.byStatus)
      operations.inc({ operation: name, status: String(status) }, count)
    sums.byStatus.clear()
  }
  const settleAll = (): void => {
    for (const [name, sums] of pending) settle(name, sums)
  }
  return {
    operation(name, status, durationMs) {
      // The hot path only adds to plain numbers; labels are hashed on collection.
      let sums = pending.get(name)
      if (sums === undefined) {
        sums = { byStatus: new Map(), durations: durations.of(name) }
        pending.set(name, sums)
      }
      sums.byStatus.set(status, (sums.byStatus.get(status) ?? 0) + 1)
      sums.durations.add(durationMs / 1000)
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
    collected: (name, wanted) => collect(registry, name, wanted),
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

function collect(registry: Registry, name: string, { type, help, label, read }: Collected): void {
  const options = { name: `warder_${name}`, help, labelNames: label === undefined ? [] : [label] }
  const fill = async (set: (labels: Record<string, string>, value: number) => void): Promise<void> => {
    try {
      const found = await read()
      if (typeof found === 'number') set({}, found)
      else for (const [value, count] of Object.entries(found)) set({ [label ?? '']: value }, count)
    } catch {
      // Each reader reports its own failures; the other metrics are still scraped.
    }
  }
  const registers = [registry]
  if (type === 'gauge')
    new Gauge({
      ...options,
      registers,
      collect() {
        this.reset()
        return fill((labels, value) => this.set(labels, value))
      },
    })
  else
    new Counter({
      ...options,
      registers,
      collect() {
        this.reset()
        return fill((labels, value) => this.inc(labels, value))
      },
    })
}

/** One Prometheus text (0.0.4) of several threads' snapshots; counters and histograms are added up. */
export async function mergeMetrics(snapshots: readonly unknown[]): Promise<string> {
  const known = snapshots.filter((snapshot) => Array.isArray(snapshot)) as object[]
  return AggregatorRegistry.aggregate(known as never).metrics()
}
