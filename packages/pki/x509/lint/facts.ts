import { contextTag, type DerElement, derElements, derMembers } from '../../der.ts'
import { byteKeysByIdentifier } from '../../keys/key-algorithms.ts'
import { parseSpki } from '../../keys/pkcs8.ts'
import type { ParsedCertificate } from '../certificate.ts'
import {
  type Extension,
  extensionIdentifiers,
  extensionValue,
  type KeyUsageName,
  readAuthorityKeyIdentifier,
  readBasicConstraints,
  readExtendedKeyUsage,
  readKeyIdentifier,
  readKeyUsage,
} from '../extensions.ts'
import {
  type NameConstraints,
  type ReadGeneralName,
  readGeneralName,
  readNameConstraints,
} from '../general-name.ts'

/** Severity: a standard forbids it, or advises against it. */
export type Severity = 'error' | 'warning'

/** A check. Returns a description of the defect, or undefined. */
export interface Rule {
  /** Stable identifier, for tests and for lists of accepted findings. */
  readonly name: string
  /** Clause of the standard. */
  readonly clause: string
  readonly severity: Severity
  readonly check: (facts: Facts) => string | undefined
}

/** The properties of a certificate that the rules use. */
export interface Facts {
  readonly certificate: ParsedCertificate
  readonly extensions: readonly Extension[]
  /** Finds the extension with this identifier. */
  find(identifier: string): Extension | undefined
  readonly isSelfIssued: boolean
  readonly authority: boolean
  readonly pathLength: number | undefined
  readonly uses: readonly KeyUsageName[] | undefined
  readonly purposes: readonly string[] | undefined
  readonly names: readonly ReadGeneralName[]
  readonly keyIdentifier: Uint8Array | undefined
  readonly authorityKeyIdentifier: Uint8Array | undefined
  readonly nameConstraints: NameConstraints | undefined
  /** Algorithm of the key: `rsa`, `ec`, or the name of a byte-string key: `ML-DSA-44`. */
  readonly keyAlgorithm: string
  /** The two elements of the validity. */
  readonly dates: readonly DerElement[]
}

/** @throws PkiError for an unreadable certificate */
export function readFacts(certificate: ParsedCertificate): Facts {
  const { extensions, subject, issuer, spki, key } = certificate
  const names = extensionValue(extensions, extensionIdentifiers.subjectAltName)
  const { authority, pathLength } = readBasicConstraints(extensions)
  const family = byteKeysByIdentifier(parseSpki(spki).identifier)
  return {
    certificate,
    extensions,
    find: (identifier) => extensions.find((each) => each.identifier === identifier),
    isSelfIssued: Buffer.compare(subject, issuer) === 0,
    authority,
    pathLength,
    uses: readKeyUsage(extensions),
    purposes: readExtendedKeyUsage(extensions),
    names: names === undefined ? [] : derMembers(names, 'subjectAltName').map(readGeneralName),
    keyIdentifier: readKeyIdentifier(extensions),
    authorityKeyIdentifier: readAuthorityKeyIdentifier(extensions),
    nameConstraints: readNameConstraints(extensions),
    keyAlgorithm: family?.algorithm ?? key.asymmetricKeyType ?? 'unknown',
    dates: readDates(certificate),
  }
}

function readDates({ signed }: ParsedCertificate): readonly DerElement[] {
  const members = derMembers(signed.data, 'The certificate')
  const validity = members[members[0]?.tag === contextTag(0) ? 4 : 3]
  return derElements(validity?.content ?? new Uint8Array(), 'The certificate')
}
