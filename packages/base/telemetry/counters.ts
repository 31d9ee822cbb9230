import type { Metrics } from './types.ts'

/** Counters by name, each with the values of its labels: closed sets. */
export type Counters = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>

/** Counters of every service. */
export const runtimeCounters: Counters = {
  audit_lost_total: {},
  audit_files_changed_total: {},
  audit_forward_failures_total: { target: ['collector', 'syslog'] },
  log_lines_lost_total: {},
  worker_restarts_total: {},
  clock_jumps_total: { direction: ['ahead', 'back'] },
  http_client_errors_total: {},
  http_replies_dropped_total: {},
  trace_spans_dropped_total: {},
}

/**
 * Makes counters exist at 0 before anything is counted: `increase()` of Prometheus sees no first event of a counter that
 * appears with it (an alert on lost audit records would stay silent).
 */
export function startCounters(metrics: Pick<Metrics, 'count'>, counters: Counters): void {
  for (const [name, labels] of Object.entries(counters))
    for (const values of combineLabels(Object.entries(labels))) metrics.count(name, values, 0)
}

function combineLabels(
  labels: readonly (readonly [label: string, values: readonly string[]])[],
): readonly Readonly<Record<string, string>>[] {
  const [first, ...rest] = labels
  if (first === undefined) return [{}]
  const [label, values] = first
  return values.flatMap((value) => combineLabels(rest).map((others) => ({ [label]: value, ...others })))
}
