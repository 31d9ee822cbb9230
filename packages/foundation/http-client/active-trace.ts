import { AsyncLocalStorage } from 'node:async_hooks'

/** The trace of the request that is being answered. */
export interface ActiveTrace {
  /** Begins a call that is made for the request. */
  call(method: string, url: URL): TracedCall
}

/** One call to another service. */
export interface TracedCall {
  /** By which the other service continues the trace: `traceparent`, `tracestate` (W3C Trace Context). */
  readonly headers: Readonly<Record<string, string>>
  /** Called once, with the HTTP status, or with what the call failed with. */
  ended(outcome: number | Error): void
}

/** Set while a traced request is answered; what is awaited for it sees it, too. */
export const activeTrace = new AsyncLocalStorage<ActiveTrace>()
