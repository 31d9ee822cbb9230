import { contextTag, type DerElement, derElements, derMembers } from '../../asn1/der.ts'
import { byteKeysByIdentifier } from '../../keys/byte-key-families.ts'
import { parseSpki } from '../../keys/pkcs8.ts'
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
import { type ReadGeneralName, readGeneralName } from '../general-name.ts'
import { type NameConstraints, readNameConstraints } from '../name-constraints.ts'
import type { ParsedCertificate } from '../parsed-certificate.ts'

/** How serious it is: a standard forbids it, or advises against it. */
export type Severity = 'error' | 'warning'

/** One check. It returns the sentence that says what is wrong, or undefined. */
export interface Rule {
  /** Stable, for tests and for those who accept a finding. */
  readonly name: string
  /** Clause of the standard. */
  readonly clause: string
  readonly severity: Severity
  readonly check: (facts: Facts) => string | undefined
}

/** A certificate as the rules see it. */
export interface Facts {
  readonly certificate: ParsedCertificate
  readonly extensions: readonly Extension[]
  /** The extension of this identifier, if it is there. */
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
  /** Algorithm of the key: `rsa`, `ec`, or the name of a key that is a string of bytes: `ML-DSA-44`. */
  readonly keyAlgorithm: string
  /** The two elements of the validity. */
  readonly dates: readonly DerElement[]
}

/** @throws PkiError for what cannot be read */
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
