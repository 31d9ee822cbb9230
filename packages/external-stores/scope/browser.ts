import type { IncomingRequest } from '@warder/server'

/**
 * Whether a browser sent the request for a page: browsers add headers that a page cannot omit (Fetch §3.2, Fetch
 * Metadata §2). A store that authenticates its cloud by a client certificate ignores the certificate of such a request:
 * it belongs to the user of the browser.
 */
export function isBrowserRequest({ headers }: Pick<IncomingRequest, 'headers'>): boolean {
  return (
    headers.origin !== undefined || headers.cookie !== undefined || headers['sec-fetch-site'] !== undefined
  )
}
