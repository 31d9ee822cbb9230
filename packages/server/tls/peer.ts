import { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { keyPurposes, validatePath } from '@warder/pki'

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

/**
 * Authorities of client certificates of two kinds: of users, whose certificates authenticate on all interfaces, and of
 * partners, whose certificates authenticate only on one interface. The handshake trusts both. PEM; self-signed certificates
 * are anchors, all others intermediates.
 */
export interface ClientAuthorities {
  readonly users: string | undefined
  /** By the names of the partners. */
  readonly partners: Readonly<Record<string, string>>
}

/** Under whose authorities a certificate that the handshake has verified was issued. */
export interface IssuedUnder {
  users(certificate: X509Certificate): boolean
  /** Those of this partner, and of no other. */
  partner(certificate: X509Certificate, name: string): boolean
}

interface Authorities {
  readonly anchors: readonly Uint8Array[]
  readonly others: readonly Uint8Array[]
}

/** @param now Unix milliseconds */
export function createIssuedUnder(authorities: ClientAuthorities, now: () => number): IssuedUnder {
  const users = readPem(authorities.users ?? '')
  const partners = new Map(
    Object.entries(authorities.partners).map(([name, pem]) => [name, readPem(pem)] as const),
  )
  const isUnder = (certificate: X509Certificate, { anchors, others }: Authorities): boolean => {
    if (anchors.length === 0) return false
    const { validity } = validatePath({
      certificate: certificate.raw,
      anchors,
      others: [...others, ...listPresented(certificate)],
      at: now(),
      purpose: keyPurposes.clientAuth,
    })
    return validity === 'Valid'
  }
  return {
    users: (certificate) => isUnder(certificate, users),
    partner(certificate, name) {
      const known = partners.get(name)
      return known !== undefined && isUnder(certificate, known)
    },
  }
}

/** Only self-signed certificates are anchors, as for the handshake. */
function readPem(pem: string): Authorities {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
  const certificates = blocks.map((block) => new X509Certificate(block))
  const anchors = certificates.filter((one) => one.subject === one.issuer)
  return {
    anchors: anchors.map(({ raw }) => raw),
    others: certificates.filter((one) => !anchors.includes(one)).map(({ raw }) => raw),
  }
}

const maxPresented = 16

/** The certificates that came with it, which are not kept with a session that is resumed. */
function listPresented(certificate: X509Certificate): readonly Uint8Array[] {
  const found: Uint8Array[] = []
  let issuer = certificate.issuerCertificate
  while (issuer !== undefined && found.length < maxPresented) {
    found.push(issuer.raw)
    const next = issuer.issuerCertificate
    if (next === issuer) break
    issuer = next
  }
  return found
}
