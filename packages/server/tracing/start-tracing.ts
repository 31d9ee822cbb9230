import type { Clock } from '@warder/base'
import { startTraceExport, type TraceExportOptions } from './otlp-traces.ts'
import { createTracer, type Tracer } from './tracer.ts'

/** So far the wall clock may run from what was measured, before it is believed. */
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

export interface Tracing {
  readonly tracer: Tracer
  /** Sends what waits, and ends. */
  stop(): Promise<void>
}

/** @returns undefined where the settings ask for no traces: nothing is recorded then, and nothing is in the way */
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
