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
