import type { IncomingRequest } from '../operations/types.ts'

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
