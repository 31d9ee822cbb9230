import type { Collected, Metrics } from '@warder/base'
import { AggregatorRegistry, Counter, Gauge, Registry } from 'prom-client'
import { createDurations, type Durations } from './durations.ts'

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
