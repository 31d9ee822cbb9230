import type { HttpMethod } from '../operations/types.ts'

/** A flat list of header names and values. */
type HeaderList = string[]

export interface Cors {
  /** Whether a page of this origin may read replies and send credentials. */
  permits(origin: string, host: string | undefined): boolean
  /** Headers of an actual reply (Fetch §3.2.3). */
  reply(list: HeaderList, origin: string | undefined, host: string | undefined, anyOrigin: boolean): void
  /** Headers that answer a preflight; undefined = the origin is not permitted. */
  preflight(
    origin: string,
    host: string | undefined,
    anyOrigin: boolean,
    allow: readonly HttpMethod[],
    requestedHeaders: string | undefined,
  ): Readonly<Record<string, string>> | undefined
}

const exposed = 'X-Request-Id, Retry-After, X-RateLimit-After, X-Next-After'
const headerNames = /^[A-Za-z0-9!#$%&'*+.^_`|~, -]{1,1000}$/

/** Same-origin plus a list. `plaintext`: TLS ends at a proxy, so an origin of either scheme may be one's own. */
export function createCors(
  allowedOrigins: readonly string[],
  baseUrl: string | undefined,
  plaintext: boolean,
): Cors {
  const allowed = new Set(allowedOrigins.map((origin) => origin.toLowerCase().replace(/\/$/, '')))
  if (baseUrl !== undefined) allowed.add(new URL(baseUrl).origin)
  const permits = (origin: string, host: string | undefined): boolean =>
    allowed.has(origin) ||
    (host !== undefined && (origin === `https://${host}` || (plaintext && origin === `http://${host}`)))
  return {
    permits,
    reply(list, origin, host, anyOrigin) {
      if (anyOrigin) {
        list.push('Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', exposed)
        return
      }
      if (origin === undefined) return
      list.push('Vary', 'Origin')
      if (!permits(origin, host)) return
      list.push('Access-Control-Allow-Origin', origin, 'Access-Control-Allow-Credentials', 'true')
      list.push('Access-Control-Expose-Headers', exposed)
    },
    preflight(origin, host, anyOrigin, allow, requestedHeaders) {
      if (!anyOrigin && !permits(origin, host)) return undefined
      const headers: Record<string, string> = {
        'Access-Control-Allow-Methods': allow.join(', '),
        'Access-Control-Max-Age': '600',
        Vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
      }
      if (requestedHeaders !== undefined && headerNames.test(requestedHeaders)) {
        headers['Access-Control-Allow-Headers'] = requestedHeaders
      }
      return headers
    },
  }
}
