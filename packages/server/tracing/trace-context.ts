/** Position in a trace (W3C Trace Context, level 1). */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string
  /** 16 lower-case hexadecimal digits. */
  readonly spanId: string
  /** Whether the caller records the trace. */
  readonly sampled: boolean
  /** `tracestate`, which is passed on as it came. */
  readonly state: string | undefined
}

/** §3.2.2: version ff and ids of zeros are invalid; later versions may append members. */
const traceparent =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[\x20-\x7e]*)?$/
const sampledFlag = 1
/** §3.3.1.5: at least 512 characters are to be passed on. */
const maxStateLength = 512

/** @returns undefined where there is no valid `traceparent`: the trace begins here */
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
