import { isIP } from 'node:net'
import { failure } from '@warder/base'
import {
  comparableName,
  createExtendedKeyUsage,
  derMembers,
  type Extension,
  extensionIdentifiers,
  generalNameText,
  hasForeignCharacters,
  isWithinProfile,
  keyPurposes,
  type ProfileName,
  profiles,
  readBasicConstraints,
  readExtendedKeyUsage,
  readKeyUsage,
  readNameParts,
} from '@warder/pki'
import type { Authority } from './authority.ts'
import { parseOnce } from './register/certificates.ts'

/** A requested certificate. `unknown`: the caller chose the extensions. */
interface Requested {
  readonly profile: ProfileName | 'unknown'
  /** DER of the name. */
  readonly subject: Uint8Array
  /** All extensions except the key identifiers and the addresses of revocation information. */
  readonly extensions: readonly Extension[]
}

/**
 * The extensions that an authority certifies: those of the profile, or those that the caller chose, within the profiles
 * of the authority. If the authority is limited to profiles and the caller named no purpose, the certificate gets the
 * purposes of the first matching profile: without purposes it would be valid for all of them (RFC 5280 §4.2.1.12).
 * @throws Failure bad_request; PkiError
 */
export function requireProfile(authority: Authority, requested: Requested): readonly Extension[] {
  const { profile, extensions } = requested
  requireNotAuthorityUses(extensions)
  requireOtherName(authority, requested)
  if (profile !== 'unknown') {
    requirePermitted(authority, profile)
    if (profile === 'server') requireCommonName(requested)
    return extensions
  }
  const { profiles: permitted } = authority.settings
  if (permitted === undefined) return extensions
  const isAuthority = readBasicConstraints(extensions).authority
  const names = permitted.filter((name) => profiles[name].authority === isAuthority)
  const withPurposes = (name: ProfileName): readonly Extension[] =>
    isAuthority || readExtendedKeyUsage(extensions) !== undefined
      ? extensions
      : [...extensions, createExtendedKeyUsage(profiles[name].purposes.map((each) => keyPurposes[each]))]
  const subjectIsEmpty = readNameParts(requested.subject).length === 0
  const fitting = names.find((name) =>
    isWithinProfile(name, { extensions: withPurposes(name), subjectIsEmpty }),
  )
  if (fitting === undefined)
    throw failure(
      'bad_request',
      `The authority issues certificates of the profiles ${permitted.join(', ')} only: request only the extensions, purposes and names that these permit.`,
    )
  if (fitting === 'server') requireCommonName(requested)
  return withPurposes(fitting)
}

/** @throws Failure bad_request */
function requirePermitted({ settings }: Authority, profile: ProfileName): void {
  if (profile === 'ocspResponder')
    throw failure('bad_request', 'Only the service creates the OCSP responders of an authority.')
  if (settings.profiles !== undefined && !settings.profiles.includes(profile))
    throw failure(
      'bad_request',
      `The authority issues no certificates of this profile, only ${settings.profiles.join(', ')}.`,
    )
}

/**
 * Refuses certificates that can state the status of others, which only the service creates: one for OCSPSigning from this
 * authority answers for it (RFC 6960 §4.2.2.2), one for cRLSign signs lists (RFC 5280 §4.2.1.3). A duplicate
 * extension could be read differently here and by a relying party (RFC 5280 §4.2).
 * @throws Failure bad_request
 */
function requireNotAuthorityUses(extensions: readonly Extension[]): void {
  const identifiers = extensions.map(({ identifier }) => identifier)
  if (new Set(identifiers).size < identifiers.length)
    throw failure('bad_request', 'The certificate contains an extension twice (RFC 5280 §4.2).')
  if (identifiers.includes(extensionIdentifiers.ocspNoCheck))
    throw failure(
      'bad_request',
      'ocsp-nocheck is only for the OCSP responders that the service creates (RFC 6960 §4.2.2.2.1).',
    )
  const purposes = readExtendedKeyUsage(extensions) ?? []
  if (purposes.some((each) => each === keyPurposes.OCSPSigning || each === anyPurpose))
    throw failure(
      'bad_request',
      'extendedKeyUsage: OCSPSigning and anyExtendedKeyUsage cannot be requested: only the service creates the OCSP responders of an authority.',
    )
  if (readBasicConstraints(extensions).authority) return
  const uses = readKeyUsage(extensions)
  // Without the extension a key may be used for all of it.
  if (uses === undefined || uses.includes('keyCertSign') || uses.includes('cRLSign'))
    throw failure(
      'bad_request',
      'keyUsage: keyCertSign and cRLSign are only for the certificates of authorities (RFC 5280 §4.2.1.3).',
    )
}

/** RFC 5280 §4.2.1.12 */
const anyPurpose = '2.5.29.37.0'

/**
 * Another key under the name of the authority, or of one above it, would be a self-issued certificate: path lengths and
 * constraints on names do not hold for it (RFC 5280 §6.1.3, §6.1.4), and it could sign lists in that name (§6.3.3).
 * @throws Failure bad_request
 */
function requireOtherName({ certificate, chain }: Authority, { subject }: Requested): void {
  if (hasForeignCharacters(subject))
    throw failure(
      'bad_request',
      'subject: contains characters that are not allowed in its string type (X.680 §41): use UTF8String.',
    )
  const wanted = comparableName(subject).join('\n')
  const taken = [certificate, ...chain].some(
    (der) => comparableName(parseOnce(der).subject).join('\n') === wanted,
  )
  if (taken)
    throw failure(
      'bad_request',
      'subject: is the name of the authority or of one above it; choose another name.',
    )
}

const hostLike = /^[A-Za-z0-9_*-]+(?:\.[A-Za-z0-9_-]+)+$/

/**
 * Requires that a common name that looks like a host is one of the alternative names: clients that still read it would
 * otherwise trust an unchecked name (RFC 9525 §4.1, CA/B Forum BR §7.1.4.3).
 * @throws Failure bad_request
 */
function requireCommonName({ subject, extensions }: Requested): void {
  const texts = readAlternativeNames(extensions).map((name) => generalNameText(name).toLowerCase())
  for (const [part, value] of readNameParts(subject)) {
    if (part !== 'CN' || !(hostLike.test(value) || isIP(value) !== 0)) continue
    const known = ['dns', 'ip'].some((kind) => texts.includes(`${kind}:${value.toLowerCase()}`))
    if (!known)
      throw failure(
        'bad_request',
        'The common name of a server must be one of its alternative names: include it in `names`.',
      )
  }
}

/** DER of each alternative name. @throws PkiError */
export function readAlternativeNames(extensions: readonly Extension[]): readonly Uint8Array[] {
  const found = extensions.find(({ identifier }) => identifier === extensionIdentifiers.subjectAltName)
  return found === undefined ? [] : derMembers(found.value, 'subjectAltName').map(({ whole }) => whole)
}
