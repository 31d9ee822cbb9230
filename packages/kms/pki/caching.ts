import type { IncomingRequest } from '@warder/server'

/** Query parameters at the addresses that certificates name. */
export const fromVerifiers = {
  names: 'any',
  because: 'Programs that verify certificates send this request, often through a cache.',
} as const

/** Facts for caches about a reply. Times in Unix milliseconds. */
export interface Freshness {
  readonly etag: string
  readonly modified: number
  /** Caches do not revalidate before this time. */
  readonly until: number
  readonly now: number
}

/** @param control directives besides `max-age` */
export function freshHeaders({ etag, modified, until, now }: Freshness, control: string) {
  const seconds = Math.max(0, Math.floor((until - now) / 1000))
  return {
    ETag: etag,
    'Last-Modified': httpDate(modified),
    Expires: httpDate(until),
    'Cache-Control': `max-age=${seconds}, ${control}`,
  }
}

/** IMF-fixdate (RFC 9110 §5.6.7). */
function httpDate(ms: number): string {
  return new Date(ms).toUTCString()
}

/** RFC 9110 §13.2.2: If-Modified-Since applies only without If-None-Match. @param modified Unix milliseconds */
export function isUnchanged(
  { headers }: Pick<IncomingRequest, 'headers'>,
  etag: string,
  modified: number,
): boolean {
  const tags = headers['if-none-match']
  if (tags !== undefined) return names(tags, etag)
  const since = headers['if-modified-since']
  const time = since === undefined ? Number.NaN : Date.parse(since)
  return time >= Math.floor(modified / 1000) * 1000
}

/** RFC 9110 §13.1.2, weak comparison. */
function names(header: string, etag: string): boolean {
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '')
  return header.trim() === '*' || header.split(',').some((tag) => opaque(tag) === opaque(etag))
}
