import type { Metric, Registry } from 'prom-client'

/** Upper bounds in seconds; what is slower counts only in `+Inf`. */
export const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

/** Durations of one operation. */
export interface Durations {
  add(seconds: number): void
}

/**
 * A Prometheus histogram of durations by operation, registered like any other metric. `prom-client`'s own looks its
 * labels up for each value; this histogram looks an operation up once and then only adds two numbers.
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
  // The registry calls nothing but `get`; its type asks for one of its own classes.
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
