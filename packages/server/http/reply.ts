import type { Failure } from '@warder/base'
import type { ErrorShape, IncomingRequest, PublicError, RawReply } from '../operations/types.ts'

/**
 * A reply that is not plain JSON. It is a class, so that no JSON object can be mistaken for it.
 */
class BrandedReply implements RawReply {
  readonly #brand = true
  readonly status?: number
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly raw?: Uint8Array | string
  readonly contentType?: string
  readonly json?: unknown
  readonly stream?: AsyncIterable<string>

  constructor(reply: RawReply) {
    Object.assign(this, reply)
  }

  static is(value: unknown): value is BrandedReply {
    return typeof value === 'object' && value !== null && #brand in value && value.#brand
  }
}

/**
 * A reply with its own status, headers or bytes, returned by `act`:
 * `rawReply({ status: 302, headers: { Location: url } })`.
 */
export function rawReply(reply: RawReply): BrandedReply {
  return new BrandedReply(reply)
}

/**
 * A page of a list, of an operation that is `paged`.
 * @param next `after` of the next page; undefined: nothing follows
 */
export function pageReply(json: unknown, next: string | undefined): unknown {
  if (next === undefined) return json
  return rawReply({ json, headers: { 'X-Next-After': encodeURIComponent(next) } })
}

/** A reply for the wire, without the headers that every response carries. */
export interface PreparedReply {
  readonly status: number
  readonly body: string | Uint8Array | undefined
  /** The body in parts, instead of `body`. */
  readonly stream?: AsyncIterable<string>
  readonly contentType: string | undefined
  readonly headers: Readonly<Record<string, string | readonly string[]>> | undefined
  /** Kind of the failure that it reports, for the audit record. */
  readonly reason?: string
}

export const jsonType = 'application/json'

/** Converts the result of `act` to a reply; `status` is the operation's. `undefined` and 204 send no body. */
export function prepareReply(
  result: unknown,
  status: number,
  replyContentType: string | undefined,
): PreparedReply {
  if (BrandedReply.is(result)) return prepareRaw(result, status, replyContentType)
  if (status === 204 || result === undefined) {
    return { status, body: undefined, contentType: undefined, headers: undefined }
  }
  return {
    status,
    body: JSON.stringify(result),
    contentType: replyContentType ?? jsonType,
    headers: undefined,
  }
}

function prepareRaw(reply: RawReply, status: number, replyContentType: string | undefined): PreparedReply {
  const isJson = reply.raw === undefined && reply.json !== undefined
  const body = isJson ? JSON.stringify(reply.json) : reply.raw
  const usual = isJson ? jsonType : (replyContentType ?? 'application/octet-stream')
  return {
    status: reply.status ?? status,
    body,
    contentType: body === undefined && reply.stream === undefined ? undefined : (reply.contentType ?? usual),
    headers: reply.headers,
    ...(reply.stream !== undefined && { stream: reply.stream }),
  }
}

/** The default reply to a failure: a JSON body with `error` and `description`. */
export function prepareFailure(failed: Failure, requestId: string): PreparedReply {
  return {
    status: failed.status,
    body: JSON.stringify(errorBody(failed, requestId)),
    contentType: jsonType,
    headers: failureHeaders(failed, failed.status, undefined),
    reason: failed.kind,
  }
}

/**
 * The reply to a failure in another shape. @throws the error of the shape, and an error if its status is not
 * an error status
 */
export function prepareFailureInShape(
  failed: Failure,
  shape: ErrorShape,
  request: IncomingRequest,
): PreparedReply {
  const reply = prepareRaw(shape.reply(failed, request), failed.status, undefined)
  if (reply.status < 400) throw new Error(`the error format maps ${failed.kind} to status ${reply.status}`)
  return { ...reply, headers: failureHeaders(failed, reply.status, reply.headers), reason: failed.kind }
}

/** Those of the failure and of its status (RFC 9110 §11.6.1, RFC 6585 §4), unless the reply has its own of that name. */
function failureHeaders(
  failed: Failure,
  status: number,
  own: PreparedReply['headers'],
): NonNullable<PreparedReply['headers']> {
  const headers: Record<string, string> = { ...failed.headers }
  if (status === 401) headers['WWW-Authenticate'] ??= 'Bearer'
  if (failed.retryAfterSeconds !== undefined) {
    const seconds = String(Math.max(1, Math.ceil(failed.retryAfterSeconds)))
    headers['Retry-After'] = seconds
    if (status === 429) headers['X-RateLimit-After'] = seconds
  }
  if (own === undefined) return headers
  const taken = new Set(Object.keys(own).map((name) => name.toLowerCase()))
  const added = Object.entries(headers).filter(([name]) => !taken.has(name.toLowerCase()))
  return { ...own, ...Object.fromEntries(added) }
}

/** The usual error body; 5xx carry the request id, by which the operator finds the private detail in the log. */
export function errorBody(failure: PublicError, requestId: string): Readonly<Record<string, unknown>> {
  const { kind, status, message, members } = failure
  const body: Record<string, unknown> = { ...members, error: kind, description: message }
  if (status >= 500) body.request_id = requestId
  return body
}

const frameAncestors = "frame-ancestors 'none'"

/** Headers of every response of every service. */
export const securityHeaders: readonly string[] = [
  'X-Frame-Options',
  'DENY',
  'Content-Security-Policy',
  frameAncestors,
  'X-Content-Type-Options',
  'nosniff',
  'Strict-Transport-Security',
  'max-age=31536000',
]

/** Headers that a reply may replace; all others are fixed. */
const replaceable = new Set(['content-security-policy', 'cache-control'])
const ours = new Set([
  'x-frame-options',
  'x-content-type-options',
  'strict-transport-security',
  'x-request-id',
  'content-length',
  'transfer-encoding',
  'connection',
])

/** A flat list of names and values, the format of `writeHead`. */
export function responseHeaders(
  reply: PreparedReply,
  requestId: string,
  cacheControl: string,
  contentLength: number | undefined,
): string[] {
  if (reply.headers !== undefined)
    return mergeHeaders(reply, reply.headers, requestId, cacheControl, contentLength)
  const list = [...securityHeaders, 'Cache-Control', cacheControl, 'X-Request-Id', requestId]
  if (reply.contentType !== undefined) list.push('Content-Type', reply.contentType)
  if (contentLength !== undefined) list.push('Content-Length', String(contentLength))
  return list
}

function mergeHeaders(
  reply: PreparedReply,
  own: NonNullable<PreparedReply['headers']>,
  requestId: string,
  cacheControl: string,
  contentLength: number | undefined,
): string[] {
  const list = responseHeaders({ ...reply, headers: undefined }, requestId, cacheControl, contentLength)
  for (const [name, value] of Object.entries(own)) {
    const lower = name.toLowerCase()
    if (ours.has(lower)) continue
    if (replaceable.has(lower) || lower === 'content-type') drop(list, lower)
    for (const one of typeof value === 'string' ? [value] : value) {
      list.push(name, lower === 'content-security-policy' ? withFrameAncestors(one) : one)
    }
  }
  return list
}

function withFrameAncestors(policy: string): string {
  return policy.includes('frame-ancestors') ? policy : `${policy}; ${frameAncestors}`
}

function drop(list: string[], lower: string): void {
  for (let index = 0; index < list.length; index += 2) {
    if (list[index]?.toLowerCase() === lower) {
      list.splice(index, 2)
      return
    }
  }
}

/** The token of `Authorization: Bearer`, scheme in any case (RFC 9110 §11.1); undefined for other schemes. */
export function bearerToken(request: IncomingRequest): string | undefined {
  const header = request.headers.authorization
  if (header === undefined) return undefined
  // Fast path for the common form; the pattern reads all other forms that the scheme permits.
  if (header.startsWith('Bearer ') && header.indexOf(' ', 7) === -1 && header.indexOf(',', 7) === -1) {
    return header.length === 7 ? undefined : header.slice(7)
  }
  return /^bearer +([^\s,]+)$/i.exec(header)?.[1]
}
