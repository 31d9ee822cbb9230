import { failure } from '@warder/base'
import type { IncomingRequest } from '@warder/server'

export const sessionCookie = '_ea_'

/**
 * Reads the session cookie; undefined when there is none. Two cookies of that name are refused: the second one could
 * make this service and another reader see different sessions.
 * @throws failure('unauthorized')
 */
export function readSessionCookie(request: IncomingRequest): string | undefined {
  const values = request.cookies(sessionCookie)
  if (values.length > 1) throw failure('unauthorized', 'The session cookie appears twice.')
  return values[0]
}

/** RFC 6265: this host only (no Domain), never readable by scripts, never sent from other sites, never without TLS. */
export function setSessionCookie(value: string, maxAgeSeconds: number): string {
  return `${sessionCookie}=${value}; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=${maxAgeSeconds}`
}
