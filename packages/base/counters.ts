/** Counters by name, each with the values of its labels: closed sets. */
export type Counters = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>

/** Counters of every service. */
export const runtimeCounters: Counters = {
  audit_lost_total: {},
  audit_files_changed_total: {},
  audit_forward_failures_total: { target: ['collector', 'syslog'] },
  log_lines_lost_total: {},
  notices_total: { sink: ['email', 'webhook'], outcome: ['abandoned', 'dropped', 'failed', 'sent'] },
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

/** Structured log, one JSON object a line on standard error. Secrets are redacted by type (`Secret`) and by member name. */
export interface Logger {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void
  info(fields: Readonly<Record<string, unknown>>, message: string): void
  warn(fields: Readonly<Record<string, unknown>>, message: string): void
  error(fields: Readonly<Record<string, unknown>>, message: string): void
  child(fields: Readonly<Record<string, unknown>>): Logger
}

/** Numbers that are read when scraped. A reading that fails leaves its metric out. */
export interface Collected {
  readonly type: 'gauge' | 'counter'
  readonly help: string
  /** Label of the numbers, whose values are a closed set. undefined = there is one number. */
  readonly label?: string
  /** A counter's numbers never fall. */
  read(): Promise<number | Readonly<Record<string, number>>>
}

/** One finished operation; labels are the operation's name and the outcome, never a realm, user, key or address. */
export interface Metrics {
  operation(name: string, status: number, durationMs: number): void
  /** A counter by its own fixed name, e.g. `audit_lost_total`; labels from closed sets only. */
  count(name: string, labels?: Readonly<Record<string, string>>, by?: number): void
  /** A gauge that is read when scraped. */
  gauge(name: string, help: string, read: () => number): void
  /** A metric that is read when scraped, with a label or after some waiting. */
  collected(name: string, collected: Collected): void
  /** Prometheus text exposition format 0.0.4. */
  exposition(): Promise<string>
}
