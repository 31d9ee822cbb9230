import type { Failure } from '../errors/index.ts'
import type { RawReply } from '../operations/types.ts'

/**
 * A reply that is not plain JSON. It is a class of its own so that no JSON object, whatever its members, can be
 * mistaken for one.
 */
export class BrandedReply implements RawReply {
  readonly #brand = true
  readonly status?: number
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly raw?: Uint8Array | string
  readonly contentType?: string
  readonly json?: unknown

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

/** What goes on the wire, before the headers that every response carries. */
export interface PreparedReply {
  readonly status: number
  readonly body: string | Uint8Array | undefined
  readonly contentType: string | undefined
  readonly headers: Readonly<Record<string, string | readonly string[]>> | undefined
  /** Kind of the failure that it tells, for the audit record. */
  readonly reason?: string
}

export const jsonType = 'application/json'

/** Turns what `act` returned into a reply; `status` is the operation's. `undefined` and 204 send no body. */
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

function prepareRaw(
  reply: BrandedReply,
  status: number,
  replyContentType: string | undefined,
): PreparedReply {
  const isJson = reply.raw === undefined && reply.json !== undefined
  const body = isJson ? JSON.stringify(reply.json) : reply.raw
  const usual = isJson ? jsonType : (replyContentType ?? 'application/octet-stream')
  return {
    status: reply.status ?? status,
    body,
    contentType: body === undefined ? undefined : (reply.contentType ?? usual),
    headers: reply.headers,
  }
}

/**
 * The error body of both services: `{error, description}`; `vault` adds `errors: [sentence]`, which Vault-compatible
 * clients read; 5xx carry the request id, by which the operator finds the private detail in the log.
 */
export function prepareFailure(
  failed: Failure,
  requestId: string,
  errorShape: 'vault' | undefined,
): PreparedReply {
  const body: Record<string, unknown> = { ...failed.members, error: failed.kind, description: failed.message }
  if (errorShape === 'vault') body.errors = [failed.message]
  if (failed.status >= 500) body.request_id = requestId
  const headers: Record<string, string> = { ...failed.headers }
  if (failed.status === 401) headers['WWW-Authenticate'] ??= 'Bearer'
  if (failed.retryAfterSeconds !== undefined) {
    const seconds = String(Math.max(1, Math.ceil(failed.retryAfterSeconds)))
    headers['Retry-After'] = seconds
    if (failed.status === 429) headers['X-RateLimit-After'] = seconds
  }
  return {
    status: failed.status,
    body: JSON.stringify(body),
    contentType: jsonType,
    headers,
    reason: failed.kind,
  }
}
