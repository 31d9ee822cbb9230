import { X509Certificate } from 'node:crypto'
import { keyPurposes } from '@warder/pki/x509'
import { validatePath } from '@warder/pki/x509/path'

/**
 * Authorities of client certificates where there are two kinds: of users, whose certificates say who somebody is
 * everywhere, and of partners, whose certificates count for one interface and are nobody elsewhere. The handshake trusts
 * both. PEM; what is self-signed in it is an anchor, the rest are intermediates.
 */
export interface ClientAuthorities {
  readonly users: string | undefined
  readonly partners: string
}

export type AuthorityKind = keyof ClientAuthorities

/** Whether a certificate that the handshake has verified was issued under authorities of this kind. */
export type IssuedUnder = (certificate: X509Certificate, kind: AuthorityKind) => boolean

interface Authorities {
  readonly anchors: readonly Uint8Array[]
  readonly others: readonly Uint8Array[]
}

/** @param now Unix milliseconds */
export function issuedUnder(authorities: ClientAuthorities, now: () => number): IssuedUnder {
  const kinds: Readonly<Record<AuthorityKind, Authorities>> = {
    users: readPem(authorities.users ?? ''),
    partners: readPem(authorities.partners),
  }
  return (certificate, kind) => {
    const { anchors, others } = kinds[kind]
    if (anchors.length === 0) return false
    const { validity } = validatePath({
      certificate: certificate.raw,
      anchors,
      others: [...others, ...presented(certificate)],
      at: now(),
      purpose: keyPurposes.clientAuth,
    })
    return validity === 'Valid'
  }
}

/** Only what is self-signed is an anchor, as for the handshake. */
function readPem(pem: string): Authorities {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
  const certificates = blocks.map((block) => new X509Certificate(block))
  const anchors = certificates.filter((one) => one.subject === one.issuer)
  return {
    anchors: anchors.map(({ raw }) => raw),
    others: certificates.filter((one) => !anchors.includes(one)).map(({ raw }) => raw),
  }
}

const mostPresented = 16

/** The certificates that came with it, which are not kept with a session that is resumed. */
function presented(certificate: X509Certificate): readonly Uint8Array[] {
  const found: Uint8Array[] = []
  let issuer = certificate.issuerCertificate
  while (issuer !== undefined && found.length < mostPresented) {
    found.push(issuer.raw)
    const next = issuer.issuerCertificate
    if (next === issuer) break
    issuer = next
  }
  return found
}
