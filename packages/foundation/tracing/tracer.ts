import { randomBytes, randomInt } from 'node:crypto'
import type { ActiveTrace, TracedCall } from '../http-client/index.ts'
import { contextHeaders, readTraceContext, type TraceContext } from './trace-context.ts'

/** A finished span. Attributes are names of operations, routes, hosts and statuses, never paths, users or keys. */
export interface Span {
  readonly name: string
  readonly kind: 'server' | 'client'
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  /** Unix milliseconds, with fractions. */
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, string | number>>
  readonly failed: boolean
}

/** Facts about an answered request. */
export interface AnsweredRequest {
  readonly operation: string
  readonly method: string
  /** As declared: `/v1/crypto/keys/{kid}`; undefined = no operation answers there. */
  readonly route: string | undefined
  readonly status: number
  readonly requestId: string
  readonly durationMs: number
}

export interface RequestTrace extends ActiveTrace {
  readonly traceId: string
  end(answered: AnsweredRequest): void
}

export interface Tracer {
  /** @returns undefined where nothing is recorded and nothing has to be passed on */
  begin(headers: Readonly<Record<string, string | undefined>>): RequestTrace | undefined
  /** Takes finished spans out, at most so many. */
  take(most: number): readonly Span[]
}

export interface TracerOptions {
  /** Of the requests whose caller does not say whether it records the trace, so many of a hundred are recorded. */
  readonly percent: number
  /** Unix milliseconds. */
  readonly now: () => number
  /** Called for each span that is thrown away because too many wait. */
  readonly onDropped: () => void
}

/** Spans that wait for the collector. */
export const mostWaitingSpans = 8192
const hundred = 100

/** Records requests as spans. A caller's `traceparent` decides whether its trace is recorded (OpenTelemetry: ParentBased). */
export function createTracer({ percent, now, onDropped }: TracerOptions): Tracer {
  let waiting: Span[] = []
  const add = (span: Span): void => {
    if (waiting.length < mostWaitingSpans) waiting.push(span)
    else onDropped()
  }
  return {
    begin(headers) {
      const parent = readTraceContext(headers)
      const sampled = parent?.sampled ?? randomInt(hundred) < percent
      if (!sampled && parent === undefined) return undefined
      const spanId = newSpanId()
      const { traceId, state } = parent ?? { traceId: randomBytes(16).toString('hex'), state: undefined }
      const context: TraceContext = { traceId, spanId, sampled, state }
      return {
        traceId,
        call: (method, url) => beginCall(context, method, url, now, add),
        end(answered) {
          if (!sampled) return
          const endMs = now()
          const startMs = endMs - answered.durationMs
          add({ ...requestSpan(answered), traceId, spanId, parentSpanId: parent?.spanId, startMs, endMs })
        },
      }
    },
    take(most) {
      const taken = waiting.slice(0, most)
      waiting = waiting.slice(most)
      return taken
    },
  }
}

const newSpanId = (): string => randomBytes(8).toString('hex')

function requestSpan({ operation, method, route, status, requestId }: AnsweredRequest) {
  return {
    name: operation,
    kind: 'server',
    attributes: {
      'http.request.method': method,
      ...(route !== undefined && { 'http.route': route }),
      'http.response.status_code': status,
      'warder.request_id': requestId,
    },
    failed: status >= 500,
  } as const
}

function beginCall(
  context: TraceContext,
  method: string,
  url: URL,
  now: () => number,
  add: (span: Span) => void,
): TracedCall {
  const spanId = newSpanId()
  const startMs = now()
  return {
    headers: contextHeaders({ ...context, spanId }),
    ended(outcome) {
      if (!context.sampled) return
      const result =
        typeof outcome === 'number'
          ? { 'http.response.status_code': outcome }
          : { 'error.type': (outcome as NodeJS.ErrnoException).code ?? outcome.name }
      add({
        name: method,
        kind: 'client',
        traceId: context.traceId,
        spanId,
        parentSpanId: context.spanId,
        startMs,
        endMs: now(),
        attributes: {
          'http.request.method': method,
          'server.address': url.hostname,
          'server.port': Number(url.port || (url.protocol === 'http:' ? 80 : 443)),
          ...result,
        },
        failed: typeof outcome !== 'number' || outcome >= 400,
      })
    },
  }
}
