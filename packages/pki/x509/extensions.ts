import { createHash } from 'node:crypto'
import {
  contextTag,
  der,
  derBits,
  derBoolean,
  derContent,
  derElements,
  derFlag,
  derIdentifier,
  derMembers,
  derNumber,
  derObjectIdentifier,
  derOctets,
  derSequence,
  derSmallNumber,
  derTag,
} from '../der.ts'

/** An extension of a certificate or a CRL (RFC 5280 §4.2, §5.2). */
export interface Extension {
  readonly identifier: string
  readonly critical: boolean
  /** DER of the extension itself. */
  readonly value: Uint8Array
}

export const extensionIdentifiers = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  issuerAltName: '2.5.29.18',
  basicConstraints: '2.5.29.19',
  crlNumber: '2.5.29.20',
  deltaCrlIndicator: '2.5.29.27',
  issuingDistributionPoint: '2.5.29.28',
  nameConstraints: '2.5.29.30',
  crlDistributionPoints: '2.5.29.31',
  certificatePolicies: '2.5.29.32',
  policyMappings: '2.5.29.33',
  authorityKeyIdentifier: '2.5.29.35',
  policyConstraints: '2.5.29.36',
  createExtendedKeyUsage: '2.5.29.37',
  freshestCrl: '2.5.29.46',
  inhibitAnyPolicy: '2.5.29.54',
  /** RFC 9608: no revocation information will ever be available. */
  noRevAvail: '2.5.29.56',
  authorityInformationAccess: '1.3.6.1.5.5.7.1.1',
  /** RFC 6960 §4.2.2.2.1: clients do not check the revocation of the responder certificate. */
  ocspNoCheck: '1.3.6.1.5.5.7.48.1.5',
} as const

/** Returns the value of one extension, if present. */
export function extensionValue(extensions: readonly Extension[], wanted: string): Uint8Array | undefined {
  return extensions.find(({ identifier }) => identifier === wanted)?.value
}

export function encodeExtension({ identifier, critical, value }: Extension): Buffer {
  return derSequence(
    derObjectIdentifier(identifier),
    ...(critical ? [derBoolean(true)] : []),
    derOctets(value),
  )
}

/** Reads the members of an Extensions structure. @throws PkiError */
export function readExtensions(sequence: Uint8Array, what: string): readonly Extension[] {
  return derMembers(sequence, what).map((element) => {
    const [identifier, second, third] = derMembers(element.whole, what)
    const critical = second?.tag === derTag.boolean && derFlag(second, what)
    const value = derContent(second?.tag === derTag.boolean ? third : second, derTag.octetString, what)
    return { identifier: derIdentifier(identifier, what), critical, value }
  })
}

/** Reads the extensions of a certificate. @throws PkiError */
export function readCertificateExtensions(certificate: Uint8Array): readonly Extension[] {
  const what = 'The certificate'
  const [body] = derMembers(certificate, what)
  const members = derMembers(body?.whole ?? new Uint8Array(), what)
  const extensions = members.find(({ tag }) => tag === contextTag(3))
  return extensions === undefined ? [] : readExtensions(extensions.content, what)
}

export function basicConstraints(authority: boolean, pathLength?: number): Extension {
  const members = authority
    ? [derBoolean(true), ...(pathLength === undefined ? [] : [derNumber(pathLength)])]
    : []
  return {
    identifier: extensionIdentifiers.basicConstraints,
    critical: true,
    value: derSequence(...members),
  }
}

/** Reads whether it is a CA certificate, and its path length. @throws PkiError */
export function readBasicConstraints(extensions: readonly Extension[]): {
  readonly authority: boolean
  readonly pathLength: number | undefined
} {
  const found = extensions.find(({ identifier }) => identifier === extensionIdentifiers.basicConstraints)
  if (found === undefined) return { authority: false, pathLength: undefined }
  const what = 'basicConstraints'
  const members = derMembers(found.value, what)
  const authority = members[0]?.tag === derTag.boolean && derFlag(members[0], what)
  const length = members.find(({ tag }) => tag === derTag.integer)
  return { authority, pathLength: length === undefined ? undefined : derSmallNumber(length, what) }
}

/** Names of the bits, the first one being bit 0 (RFC 5280 §4.2.1.3). */
export const keyUsages = [
  'digitalSignature',
  'nonRepudiation',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
  'encipherOnly',
  'decipherOnly',
] as const
export type KeyUsageName = (typeof keyUsages)[number]

export function keyUsage(names: readonly KeyUsageName[]): Extension {
  const bits = names.map((name) => keyUsages.indexOf(name))
  const last = Math.max(...bits)
  const bytes = Buffer.alloc(Math.floor(last / 8) + 1)
  for (const bit of bits) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (0x80 >> (bit & 7))
  const value = der(derTag.bitString, Uint8Array.of(7 - (last & 7)), bytes)
  return { identifier: extensionIdentifiers.keyUsage, critical: true, value }
}

/**
 * Reads the usages in a keyUsage extension; undefined when it is absent and there is no restriction. @throws PkiError
 */
export function readKeyUsage(extensions: readonly Extension[]): readonly KeyUsageName[] | undefined {
  const found = extensions.find(({ identifier }) => identifier === extensionIdentifiers.keyUsage)
  if (found === undefined) return undefined
  const [element] = derElements(found.value, 'keyUsage')
  const bytes = derContent(element, derTag.bitString, 'keyUsage').subarray(1)
  return keyUsages.filter((_name, bit) => ((bytes[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0)
}

/** The purposes that RFC 5280 §4.2.1.12 names. */
export const keyPurposes = {
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  codeSigning: '1.3.6.1.5.5.7.3.3',
  emailProtection: '1.3.6.1.5.5.7.3.4',
  timeStamping: '1.3.6.1.5.5.7.3.8',
  OCSPSigning: '1.3.6.1.5.5.7.3.9',
} as const

/** @param identifiers dotted numbers, one at least */
export function createExtendedKeyUsage(identifiers: readonly string[], critical = false): Extension {
  const value = derSequence(...identifiers.map(derObjectIdentifier))
  return { identifier: extensionIdentifiers.createExtendedKeyUsage, critical, value }
}

/**
 * Reads the purposes, as dotted numbers; undefined when the extension is absent and there is no restriction. @throws
 * PkiError
 */
export function readExtendedKeyUsage(extensions: readonly Extension[]): readonly string[] | undefined {
  const found = extensions.find(
    ({ identifier }) => identifier === extensionIdentifiers.createExtendedKeyUsage,
  )
  if (found === undefined) return undefined
  return derMembers(found.value, 'extendedKeyUsage').map((each) => derIdentifier(each, 'extendedKeyUsage'))
}

/** @param names DER of each GeneralName */
export function subjectAltName(names: readonly Uint8Array[], critical = false): Extension {
  return { identifier: extensionIdentifiers.subjectAltName, critical, value: derSequence(...names) }
}

/** Computes the SHA-1 of the public key (RFC 5280 §4.2.1.2, method 1), used as an identifier, not for protection. */
export function computeKeyIdentifier(spki: Uint8Array): Buffer {
  const [, key] = derMembers(spki, 'The public key')
  return createHash('sha1').update(derBits(key, 'The public key')).digest()
}

export function subjectKeyIdentifier(identifier: Uint8Array): Extension {
  return {
    identifier: extensionIdentifiers.subjectKeyIdentifier,
    critical: false,
    value: derOctets(identifier),
  }
}

export function authorityKeyIdentifier(identifier: Uint8Array): Extension {
  return {
    identifier: extensionIdentifiers.authorityKeyIdentifier,
    critical: false,
    value: derSequence(der(contextTag(0, false), identifier)),
  }
}

/** The SubjectKeyIdentifier of a certificate, if it has one. */
export function readKeyIdentifier(extensions: readonly Extension[]): Uint8Array | undefined {
  const found = extensions.find(({ identifier }) => identifier === extensionIdentifiers.subjectKeyIdentifier)
  if (found === undefined) return undefined
  return derContent(
    derElements(found.value, 'subjectKeyIdentifier')[0],
    derTag.octetString,
    'The certificate',
  )
}

/** The key identifier in an AuthorityKeyIdentifier (RFC 5280 §4.2.1.1), if there is one. @throws PkiError */
export function readAuthorityKeyIdentifier(extensions: readonly Extension[]): Uint8Array | undefined {
  const found = extensions.find(
    ({ identifier }) => identifier === extensionIdentifiers.authorityKeyIdentifier,
  )
  if (found === undefined) return undefined
  const members = derMembers(found.value, 'authorityKeyIdentifier')
  return members.find(({ tag }) => tag === contextTag(0, false))?.content
}

/** RFC 5280 §4.2.1.12: every purpose. */
export const anyPurpose = '2.5.29.37.0'

/** Key usages of which one is required for a purpose (RFC 5280 §4.2.1.12). */
const consistent: Readonly<Record<keyof typeof keyPurposes, readonly KeyUsageName[]>> = {
  serverAuth: ['digitalSignature', 'keyEncipherment', 'keyAgreement'],
  // Includes keyEncipherment, which the RFC does not name: ML-KEM keys have no other usage.
  clientAuth: ['digitalSignature', 'keyEncipherment', 'keyAgreement'],
  codeSigning: ['digitalSignature'],
  emailProtection: ['digitalSignature', 'nonRepudiation', 'keyEncipherment', 'keyAgreement'],
  timeStamping: ['digitalSignature', 'nonRepudiation'],
  OCSPSigning: ['digitalSignature', 'nonRepudiation'],
}

const byIdentifier: ReadonlyMap<string, keyof typeof keyPurposes> = new Map(
  Object.entries(keyPurposes).map(([name, identifier]) => [identifier, name as keyof typeof keyPurposes]),
)

/** Finds a purpose that none of these usages allows; unknown purposes are allowed by all usages. */
export function inconsistentPurpose(
  purposes: readonly string[],
  uses: readonly KeyUsageName[],
): keyof typeof keyPurposes | undefined {
  for (const identifier of purposes) {
    const name = byIdentifier.get(identifier)
    if (name !== undefined && !consistent[name].some((use) => uses.includes(use))) return name
  }
  return undefined
}
