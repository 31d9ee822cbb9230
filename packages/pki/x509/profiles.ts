import { derElements, derMembers } from '../der.ts'
import { PkiError, pkiError } from '../error.ts'
import { byteKeysByIdentifier } from '../keys/key-algorithms.ts'
import { parseSpki } from '../keys/pkcs8.ts'
import {
  basicConstraints,
  createExtendedKeyUsage,
  type Extension,
  extensionIdentifiers,
  extensionValue,
  type KeyUsageName,
  keyPurposes,
  keyUsage,
  readBasicConstraints,
  readExtendedKeyUsage,
  subjectAltName,
} from './extensions.ts'
import {
  type GeneralNameKind,
  generalNameText,
  nameConstraints,
  readGeneralName,
  spiffeName,
} from './general-name.ts'
import { certificatePolicies } from './policies.ts'
import {
  authorityInformationAccess,
  crlDistributionPoints,
  noRevAvail,
  ocspNoCheck,
} from './revocation-access.ts'

/** Capability of a key: to sign, to encapsulate or encrypt a key, or to agree on one. */
export type KeyCapability = 'sign' | 'encipher' | 'agree'

/** Properties of all certificates of a profile. */
export interface Profile {
  readonly authority: boolean
  /** Key usages for each capability that the profile allows. */
  readonly uses: Readonly<Partial<Record<KeyCapability, readonly KeyUsageName[]>>>
  readonly purposes: readonly (keyof typeof keyPurposes)[]
  /** Allowed types of alternative names. */
  readonly names: readonly GeneralNameKind[]
  /** Minimum number of alternative names. */
  readonly minNames: number
  /** The certificate tells clients not to check its revocation. */
  readonly noCheck: boolean
}

// ML-KEM keys only encipher (RFC 9935 §5), X25519 and X448 keys only agree (RFC 9295 §3).
const endEntity = {
  sign: ['digitalSignature'],
  encipher: ['keyEncipherment'],
  agree: ['keyAgreement'],
} as const
/** Selects the key usage (RFC 5280 §4.2.1.3) of an end entity by the capability of its key. @throws PkiError */
export function endEntityUses(spki: Uint8Array): readonly KeyUsageName[] {
  return endEntity[keyCapability(spki)]
}

const onlySign = { sign: ['digitalSignature'] } as const

export const profiles = {
  /** A TLS server. Clients compare its alternative names (RFC 9525), so at least one is required. */
  server: {
    authority: false,
    uses: endEntity,
    purposes: ['serverAuth'],
    names: ['DNS', 'IP'],
    minNames: 1,
    noCheck: false,
  },
  client: {
    authority: false,
    uses: endEntity,
    purposes: ['clientAuth'],
    names: ['DNS', 'IP', 'email', 'URI'],
    minNames: 0,
    noCheck: false,
  },
  codeSigning: {
    authority: false,
    uses: onlySign,
    purposes: ['codeSigning'],
    names: ['DNS', 'email', 'URI'],
    minNames: 0,
    noCheck: false,
  },
  /** `digitalSignature` is for OCSP responses that the authority signs itself. */
  authority: {
    authority: true,
    uses: { sign: ['digitalSignature', 'keyCertSign', 'cRLSign'] },
    purposes: [],
    names: ['DNS', 'IP', 'email', 'URI', 'directory'],
    minNames: 0,
    noCheck: false,
  },
  ocspResponder: {
    authority: false,
    uses: onlySign,
    purposes: ['OCSPSigning'],
    names: ['DNS', 'URI'],
    minNames: 0,
    noCheck: true,
  },
  /** X509-SVID §3 and §4: exactly one URI, for both sides of TLS. */
  spiffe: {
    authority: false,
    uses: onlySign,
    purposes: ['serverAuth', 'clientAuth'],
    names: ['URI', 'DNS'],
    minNames: 1,
    noCheck: false,
  },
} as const satisfies Readonly<Record<string, Profile>>
export type ProfileName = keyof typeof profiles

/** Properties of one certificate of a profile. */
export interface ProfileWish {
  readonly spki: Uint8Array
  /** DER of each alternative name. */
  readonly names?: readonly Uint8Array[]
  /** RFC 5280 §4.1.2.6: the alternative names are critical then. */
  readonly subjectIsEmpty?: boolean
  /** Number of authorities that may follow below this one. */
  readonly pathLength?: number
  /** DER of each subtree. */
  readonly permitted?: readonly Uint8Array[]
  readonly excluded?: readonly Uint8Array[]
  readonly policies?: readonly string[]
  readonly crlUrls?: readonly string[]
  readonly ocspUrls?: readonly string[]
  readonly issuerUrls?: readonly string[]
  /** No revocation information will ever be available (RFC 9608): for short-lived certificates. */
  readonly noRevocation?: boolean
}

/**
 * Creates the extensions of a certificate of this profile; `issueCertificate` adds the key identifiers.
 * @throws PkiError `invalid_value` for a property that the profile does not allow, `unsupported_key` for a key
 *   without the required capability
 */
export function profileExtensions(name: ProfileName, wish: ProfileWish): readonly Extension[] {
  const profile: Profile = profiles[name]
  const uses = profile.uses[keyCapability(wish.spki)]
  if (uses === undefined)
    throw pkiError('unsupported_key', 'The key cannot sign, but the profile requires a signing key.')
  requireNames(name, profile, wish)
  requireAuthority(profile, wish)
  const { names = [], permitted = [], excluded = [], policies = [] } = wish
  return [
    basicConstraints(profile.authority, wish.pathLength),
    keyUsage(uses),
    ...(profile.purposes.length === 0
      ? []
      : [createExtendedKeyUsage(profile.purposes.map((each) => keyPurposes[each]))]),
    ...(names.length === 0 ? [] : [subjectAltName(names, wish.subjectIsEmpty === true)]),
    ...(permitted.length + excluded.length === 0 ? [] : [nameConstraints({ permitted, excluded })]),
    ...(policies.length === 0 ? [] : [certificatePolicies(policies)]),
    ...revocation(profile, wish),
  ]
}

/** Extensions other than those about revocation, which the service adds to every profile. */
const profileIdentifiers = (profile: Profile): ReadonlySet<string> =>
  new Set([
    extensionIdentifiers.basicConstraints,
    extensionIdentifiers.keyUsage,
    extensionIdentifiers.createExtendedKeyUsage,
    extensionIdentifiers.subjectAltName,
    extensionIdentifiers.subjectKeyIdentifier,
    extensionIdentifiers.authorityKeyIdentifier,
    ...(profile.authority ? [extensionIdentifiers.nameConstraints] : []),
  ])

/**
 * Whether extensions that a client chose stay within a profile: only extensions, purposes and name types of that
 * profile. Key usages are not compared.
 */
export function isWithinProfile(
  name: ProfileName,
  {
    extensions,
    subjectIsEmpty,
  }: { readonly extensions: readonly Extension[]; readonly subjectIsEmpty: boolean },
): boolean {
  const profile: Profile = profiles[name]
  const permitted = profileIdentifiers(profile)
  if (!extensions.every(({ identifier }) => permitted.has(identifier))) return false
  if (readBasicConstraints(extensions).authority !== profile.authority) return false
  const purposes = readExtendedKeyUsage(extensions)
  const profilePurposes = new Set<string>(profile.purposes.map((each) => keyPurposes[each]))
  // The purposes of an authority limit it; an end entity must have purposes of its profile.
  if (!profile.authority && (purposes === undefined || !purposes.every((each) => profilePurposes.has(each))))
    return false
  const alternative = extensionValue(extensions, extensionIdentifiers.subjectAltName)
  try {
    const names =
      alternative === undefined ? [] : derMembers(alternative, 'subjectAltName').map(({ whole }) => whole)
    requireNames(name, profile, { names, subjectIsEmpty })
    return true
  } catch (error) {
    if (error instanceof PkiError) return false
    throw error
  }
}

/** RFC 9608 §3: a certificate without revocation must not contain revocation addresses. */
function revocation(profile: Profile, wish: ProfileWish): readonly Extension[] {
  const { crlUrls = [], ocspUrls = [], issuerUrls = [], noRevocation = false } = wish
  if (noRevocation && (profile.authority || profile.noCheck || crlUrls.length + ocspUrls.length > 0))
    throw pkiError(
      'invalid_value',
      'noRevAvail is not allowed in a CA or responder certificate, or together with revocation addresses.',
    )
  // Checking the responder's own certificate at the responder would never end.
  const [ocsp, crls] = profile.noCheck ? [[], []] : [ocspUrls, crlUrls]
  return [
    ...(crls.length === 0 ? [] : [crlDistributionPoints(crls)]),
    ...(ocsp.length + issuerUrls.length === 0
      ? []
      : [authorityInformationAccess({ ocsp, caIssuers: issuerUrls })]),
    ...(noRevocation ? [noRevAvail] : []),
    ...(profile.noCheck ? [ocspNoCheck] : []),
  ]
}

function requireNames(
  name: ProfileName,
  profile: Profile,
  { names = [], subjectIsEmpty }: Pick<ProfileWish, 'names' | 'subjectIsEmpty'>,
): void {
  const kinds = names.map(
    (each) => derElements(each, 'An alternative name').map(readGeneralName)[0]?.kind ?? 'other',
  )
  if (kinds.some((kind) => !profile.names.includes(kind)))
    throw pkiError('invalid_value', 'The profile does not permit alternative names of this kind.')
  if (names.length < profile.minNames || (names.length === 0 && subjectIsEmpty === true))
    throw pkiError('invalid_value', 'The certificate needs an alternative name.')
  if (name !== 'spiffe') return
  const [id, another] = names.map(generalNameText).filter((text) => text.startsWith('URI:'))
  if (id === undefined || another !== undefined)
    throw pkiError('invalid_value', 'A SPIFFE certificate must have exactly one URI.')
  spiffeName(id.slice(4))
}

function requireAuthority(
  { authority }: Profile,
  { pathLength, permitted = [], excluded = [] }: ProfileWish,
): void {
  if (!authority && (pathLength !== undefined || permitted.length + excluded.length > 0))
    throw pkiError('invalid_value', 'Only a CA certificate may have a path length and name constraints.')
  if (pathLength !== undefined && !(Number.isInteger(pathLength) && pathLength >= 0 && pathLength <= 32))
    throw pkiError('invalid_value', 'A path length must be a number from 0 to 32.')
}

/** Diffie-Hellman (RFC 3279 §2.3.3, PKCS#3), and keys of curves that are for agreement alone (RFC 5480 §2.1.2). */
const agreementKeys: ReadonlySet<string> = new Set([
  '1.2.840.10046.2.1',
  '1.2.840.113549.1.3.1',
  '1.3.132.1.12',
])

/**
 * Determines the capability by the algorithm of a public key. Other RSA and elliptic curve keys sign here. @throws
 * PkiError
 */
export function keyCapability(spki: Uint8Array): KeyCapability {
  const { identifier } = parseSpki(spki)
  const algorithm = byteKeysByIdentifier(identifier)?.algorithm
  if (algorithm?.startsWith('ML-KEM') === true) return 'encipher'
  return algorithm === 'X25519' || algorithm === 'X448' || agreementKeys.has(identifier) ? 'agree' : 'sign'
}
