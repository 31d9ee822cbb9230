import type { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'

/** The client's certificate when it verified against the client CA (also on a resumed session), else undefined. */
export function getVerifiedPeerCertificate(socket: TLSSocket): X509Certificate | undefined {
  if (!socket.authorized) return undefined
  return socket.getPeerX509Certificate()
}

/** true when the client presented a certificate that did not verify: such a request must not be treated as anonymous. */
export function hasUnverifiedCertificate(socket: TLSSocket): boolean {
  return !socket.authorized && socket.getPeerX509Certificate() !== undefined
}

const maxNameLength = 256

/**
 * The Subject Common Name as an identity.
 * @returns undefined when there is none, more than one, or one that could be mistaken: empty, `*`, blanks around it,
 *   control characters (a NUL cuts names in other programs), or over 256 characters
 */
export function readPeerCommonName(certificate: X509Certificate): string | undefined {
  const { subject } = certificate.toLegacyObject() as { subject?: { CN?: string | string[] } }
  const name = subject?.CN
  if (typeof name !== 'string' || name === '' || name === '*' || name.length > maxNameLength) return undefined
  if (name !== name.trim() || /\p{Cc}|\p{Cf}/u.test(name)) return undefined
  return name
}
