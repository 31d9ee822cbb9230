import type { IncomingRequest } from '@warder/foundation/operations'

/**
 * Whether a browser sent the request for a page: it adds headers that a page cannot leave out (Fetch §3.2, Fetch Metadata
 * §2). A store that knows its cloud by a client certificate does not take the certificate of such a request: it would be
 * that of whoever sits before the page.
 */
export function isBrowserRequest({ headers }: Pick<IncomingRequest, 'headers'>): boolean {
  return (
    headers.origin !== undefined || headers.cookie !== undefined || headers['sec-fetch-site'] !== undefined
  )
}
