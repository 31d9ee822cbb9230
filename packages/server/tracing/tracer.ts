import { randomBytes, randomInt } from 'node:crypto'
import type {
  ActiveTrace,
  SpanAttributes,
  SpanHead,
  TracedCall,
  TracedWork,
} from '@warder/outbound/http-client'

/** Position in a trace (W3C Trace Context, level 1). */
interface TraceContext {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string
  /** 16 lower-case hexadecimal digits. */
  readonly spanId: string
  /** Whether the caller records the trace. */
  readonly sampled: boolean
  /** `tracestate`, which is passed on unchanged. */
  readonly state: string | undefined
}

/** §3.2.2: version ff and ids of zeros are invalid; later versions may append members. */
const traceparent =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[\x20-\x7e]*)?$/
const sampledFlag = 1
/** §3.3.1.5: at least 512 characters are to be passed on. */
const maxStateLength = 512

/** @returns undefined if there is no valid `traceparent`: the trace begins here */
export function readTraceContext(
  headers: Readonly<Record<string, string | undefined>>,
): TraceContext | undefined {
  const [, version, traceId, spanId, flags, more] = traceparent.exec(headers.traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (version === '00' && more !== undefined) return undefined
  const { tracestate } = headers
  const usable = tracestate !== undefined && tracestate.length <= maxStateLength && isPrintable(tracestate)
  return {
    traceId,
    spanId,
    sampled: (Number.parseInt(flags, 16) & sampledFlag) === sampledFlag,
    state: usable ? tracestate : undefined,
  }
}

const isPrintable = (text: string): boolean => /^[\x20-\x7e\t]+$/.test(text)

/** Headers that pass a context on. */
export function formatContextHeaders({
  traceId,
  spanId,
  sampled,
  state,
}: TraceContext): Record<string, string> {
  return {
    traceparent: `00-${traceId}-${spanId}-0${sampled ? sampledFlag : 0}`,
    ...(state !== undefined && { tracestate: state }),
  }
}

/** A finished span. */
export interface Span extends SpanHead {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  /** Unix milliseconds, with fractions. */
  readonly startMs: number
  readonly endMs: number
  readonly failed: boolean
}

/** Facts about an answered request. */
interface AnsweredRequest {
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
  /** @returns undefined if nothing is recorded and nothing has to be passed on */
  begin(headers: Readonly<Record<string, string | undefined>>): RequestTrace | undefined
  /** For requests of a protocol that has no place for a context. @returns undefined if it is not recorded */
  beginWork(head: SpanHead): TracedWork | undefined
  /** Takes finished spans out, at most so many. */
  take(max: number): readonly Span[]
}

interface TracerOptions {
  /** Percentage of recorded requests among those whose caller does not decide about recording. */
  readonly percent: number
  /** Unix milliseconds. */
  readonly now: () => number
  /** Called for each span that is thrown away because too many wait. */
  readonly onDropped: () => void
}

/** Spans that wait for the collector. */
export const maxWaitingSpans = 8192
/** Spans of one request, besides its own: a batch of thousands does not displace the spans of others. */
export const maxSpansPerRequest = 256
const hundred = 100

/** The clock for spans, and their recorder. */
interface Recorder {
  readonly now: () => number
  add(span: Span): void
}

/** The span below which others begin. */
interface Parent {
  readonly context: TraceContext
  /** Shared by all spans of a request. */
  readonly room: { left: number }
}

/** Records requests as spans. A caller's `traceparent` decides whether its trace is recorded (OpenTelemetry: ParentBased). */
export function createTracer({ percent, now, onDropped }: TracerOptions): Tracer {
  let waiting: Span[] = []
  const recorder: Recorder = {
    now,
    add(span) {
      if (waiting.length < maxWaitingSpans) waiting.push(span)
      else onDropped()
    },
  }
  const isChosen = (): boolean => randomInt(hundred) < percent
  return {
    begin(headers) {
      const parent = readTraceContext(headers)
      const sampled = parent?.sampled ?? isChosen()
      if (!sampled && parent === undefined) return undefined
      const { traceId, state } = parent ?? { traceId: newTraceId(), state: undefined }
      const context: TraceContext = { traceId, spanId: newSpanId(), sampled, state }
      const startMs = now()
      return {
        traceId,
        ...createActiveTrace(recorder, { context, room: { left: maxSpansPerRequest } }),
        end(answered) {
          if (!sampled) return
          // The clock has whole milliseconds, the duration has fractions: the spans of calls must lie inside.
          const times = { startMs, endMs: Math.max(now(), startMs + answered.durationMs) }
          recorder.add({
            ...describeRequest(answered),
            ...times,
            ...{ traceId, spanId: context.spanId, parentSpanId: parent?.spanId },
          })
        },
      }
    },
    beginWork(head) {
      if (!isChosen()) return undefined
      const root = { traceId: newTraceId(), spanId: undefined, sampled: true, state: undefined }
      return beginWork(recorder, root, { left: maxSpansPerRequest }, head)
    },
    take(max) {
      const taken = waiting.slice(0, max)
      waiting = waiting.slice(max)
      return taken
    },
  }
}

function createActiveTrace(recorder: Recorder, { context, room }: Parent): ActiveTrace {
  return {
    call: (method, url) => beginCall(recorder, context, method, url),
    begin(head) {
      if (!context.sampled || room.left === 0) return undefined
      room.left -= 1
      return beginWork(recorder, context, room, head)
    },
  }
}

function beginWork(
  recorder: Recorder,
  parent: Omit<TraceContext, 'spanId'> & { readonly spanId: string | undefined },
  room: Parent['room'],
  head: SpanHead,
): TracedWork {
  const spanId = newSpanId()
  const startMs = recorder.now()
  return {
    ...createActiveTrace(recorder, { context: { ...parent, spanId }, room }),
    end(failed: boolean, more?: SpanAttributes) {
      recorder.add({
        ...head,
        attributes: { ...head.attributes, ...more },
        ...{ traceId: parent.traceId, spanId, parentSpanId: parent.spanId },
        ...{ startMs, endMs: recorder.now(), failed },
      })
    },
  }
}

const newTraceId = (): string => randomBytes(16).toString('hex')
const newSpanId = (): string => randomBytes(8).toString('hex')

function describeRequest({ operation, method, route, status, requestId }: AnsweredRequest) {
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

function beginCall({ now, add }: Recorder, context: TraceContext, method: string, url: URL): TracedCall {
  const spanId = newSpanId()
  const startMs = now()
  return {
    headers: formatContextHeaders({ ...context, spanId }),
    end(outcome) {
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
