import { AsyncLocalStorage } from 'node:async_hooks'

/** Names, numbers and statuses, never values of a request, users or keys: a trace leaves the machine. */
export type SpanAttributes = Readonly<Record<string, string | number>>

/** Properties of a span that are known when it begins. */
export interface SpanHead {
  readonly name: string
  /** As OpenTelemetry has it: a request that is answered, one that is made, or work in between. */
  readonly kind: 'server' | 'client' | 'internal'
  readonly attributes: SpanAttributes
}

/** The trace of the request that is being answered. */
export interface ActiveTrace {
  /** Begins a call that is made for the request. */
  call(method: string, url: URL): TracedCall
  /** Begins work for the request. @returns undefined where it is not recorded */
  begin(head: SpanHead): TracedWork | undefined
}

/** Work within a request; spans that begin in it are its children. */
export interface TracedWork extends ActiveTrace {
  /** Called once. */
  end(failed: boolean, more?: SpanAttributes): void
}

/** One call to another service. */
export interface TracedCall {
  /** By which the other service continues the trace: `traceparent`, `tracestate` (W3C Trace Context). */
  readonly headers: Readonly<Record<string, string>>
  /** Called once, with the HTTP status, or with what the call failed with. */
  end(outcome: number | Error): void
}

/** The trace of the current request, also in its asynchronous calls. */
export const activeTrace = new AsyncLocalStorage<ActiveTrace>()
