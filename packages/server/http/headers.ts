import type { IncomingRequest } from '../operations/types.ts'
import type { PreparedReply } from './reply.ts'

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

/** A flat list of names and values, as `writeHead` takes it. */
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
