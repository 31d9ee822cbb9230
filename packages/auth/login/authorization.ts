import type { IncomingRequest } from '@warder/server'

/** The credential of a login request. */
export type Credential =
  | { readonly kind: 'basic'; readonly username: string; readonly password: string }
  | { readonly kind: 'bearer'; readonly token: string }
  /** No `Authorization` header: the client certificate of the connection is used, if there is one. */
  | { readonly kind: 'certificate' }
  | { readonly kind: 'malformed' }
export type CredentialOf<Kind extends Credential['kind']> = Extract<Credential, { readonly kind: Kind }>

const malformed: Credential = { kind: 'malformed' }
const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/**
 * Reads the `Authorization` header (RFC 9110 §11.4). A value that is not exactly one well-formed credential of a
 * known scheme is malformed. It never falls back to another login method.
 */
export function readCredential(request: IncomingRequest): Credential {
  const header = request.headers.authorization
  if (header === undefined) return { kind: 'certificate' }
  const [scheme = '', credential = '', ...rest] = header.trim().split(/[ \t]+/)
  if (credential === '' || rest.length > 0) return malformed
  if (scheme.toLowerCase() === 'basic') return readBasic(credential)
  if (scheme.toLowerCase() === 'bearer') return { kind: 'bearer', token: credential }
  return malformed
}

/** RFC 7617 §2: base64 of UTF-8 `username:password`; the first colon ends the name. */
function readBasic(credential: string): Credential {
  if (!base64.test(credential)) return malformed
  const bytes = Buffer.from(credential, 'base64')
  if (bytes.toString('base64').replace(/=+$/, '') !== credential.replace(/=+$/, '')) return malformed
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return malformed
  }
  const colon = text.indexOf(':')
  if (colon < 1) return malformed
  return { kind: 'basic', username: text.slice(0, colon), password: text.slice(colon + 1) }
}
