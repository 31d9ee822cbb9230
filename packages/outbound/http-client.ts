import { AsyncLocalStorage } from 'node:async_hooks'
import { type IncomingMessage, request as plainRequest } from 'node:http'
import { type RequestOptions, request as secureRequest } from 'node:https'

/**
 * Sends one request, and repeats it if that is safe (RFC 9110 §9.2.2): the peer may have closed a kept
 * connection while a GET was in flight. Redirects are not followed. A call within a traced request continues
 * its trace.
 * @param url https; http only for data that is verified otherwise
 * @param options its `signal` aborts the whole exchange, including the reading of the body @returns the head
 *   of the response @throws the error of the connection before the response begins
 */
export function send(url: URL, options: RequestOptions, body?: Uint8Array): Promise<IncomingMessage> {
  const request = url.protocol === 'http:' ? plainRequest : secureRequest
  const length = body === undefined ? {} : { 'content-length': body.length }
  const call = activeTrace.getStore()?.call(options.method ?? 'GET', url)
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      ...options,
      headers: { ...options.headers, ...length, ...call?.headers },
    })
    let begun = false
    outgoing.once('response', (incoming) => {
      begun = true
      call?.end(incoming.statusCode ?? 0)
      resolve(incoming)
    })
    outgoing.on('error', (error) => {
      if (!begun) call?.end(error)
      const again = outgoing.method === 'GET' && outgoing.reusedSocket && options.signal?.aborted !== true
      if (again && !begun) send(url, options, body).then(resolve, reject)
      else reject(error)
    })
    outgoing.end(body)
  })
}

/** An answer with more bytes than its caller wants. */
export class TooLarge extends Error {
  constructor(maxBytes: number) {
    super(`sent more than ${maxBytes} bytes`)
  }
}

/**
 * The whole body. The connection is given up when it is larger, and by the signal of the request.
 * @throws TooLarge, or the error of the connection
 */
export async function readWhole(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(incoming.headers['content-length'] ?? 0) > maxBytes) {
    incoming.destroy()
    throw new TooLarge(maxBytes)
  }
  const parts: Buffer[] = []
  let size = 0
  // Leaving the loop early ends the connection.
  for await (const part of incoming as AsyncIterable<Buffer>) {
    size += part.length
    if (size > maxBytes) throw new TooLarge(maxBytes)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

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
  /** Begins work for the request. @returns undefined if it is not recorded */
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
  /** Called once, with the HTTP status or the error of the call. */
  end(outcome: number | Error): void
}

/** The trace of the current request, also in its asynchronous calls. */
export const activeTrace = new AsyncLocalStorage<ActiveTrace>()
