import { failure } from '@warder/base'
import type { ManagedObject } from '@warder/keys'
import {
  derMembers,
  type Extension,
  extensionIdentifiers,
  findNameProblem,
  keyPurposes,
  readBasicConstraints,
  readExtendedKeyUsage,
} from '@warder/pki'
import type { Change, Database } from '@warder/storage'
import type { Authority } from './authority.ts'
import {
  findNameHolder,
  isAuthorityKey,
  isLimitedByOthers,
  readAuthority,
  type StoredAuthority,
  takeFreeName,
} from './register/authority-store.ts'
import { hashName, hashPublicKey, issuerId, parseOnce } from './register/certificates.ts'

const day = 86_400_000

/** RFC 5280 §4.1.2.5. @throws Failure bad_request for a validity past the end of the authority, or too long */
export function requireValidity(
  { parsed, settings }: Authority,
  { notBefore, notAfter }: { readonly notBefore: number; readonly notAfter: number },
  now: number,
): void {
  if (notAfter <= notBefore)
    throw failure('bad_request', 'The certificate would expire before it becomes valid.')
  if (notBefore < parsed.notBefore)
    throw failure('bad_request', 'The certificate would become valid before that of the authority.')
  if (notAfter > parsed.notAfter)
    throw failure(
      'bad_request',
      `The certificate would expire after that of the authority, ${new Date(parsed.notAfter).toISOString()}.`,
    )
  // A certificate that begins later counts from now: it would otherwise outlive by years the right to have it issued.
  if (settings.maxDays !== undefined && notAfter - Math.min(notBefore, now) > settings.maxDays * day)
    throw failure('bad_request', `The authority issues certificates for at most ${settings.maxDays} days.`)
}

/** RFC 5280 §4.2.1.10, of the authority and of all above it. @throws Failure bad_request */
export function requireNames(
  { certificate, chain }: StoredAuthority,
  subject: Uint8Array,
  extensions: readonly Extension[],
): void {
  const names = extensions.find(({ identifier }) => identifier === extensionIdentifiers.subjectAltName)
  const each = names === undefined ? [] : derMembers(names.value, 'subjectAltName').map(({ whole }) => whole)
  const problem = findNameProblem([certificate, ...chain].toReversed(), subject, each)
  if (problem !== undefined) throw failure('bad_request', problem)
}

/** RFC 5280 §4.2.1.9: how many authorities may follow below this one; undefined: any number. */
export function pathLengthLeft({ certificate, chain }: StoredAuthority): number | undefined {
  return [certificate, ...chain].reduce<number | undefined>((least, der, between) => {
    const { pathLength } = readBasicConstraints(parseOnce(der).extensions)
    if (pathLength === undefined) return least
    return Math.max(0, Math.min(least ?? Number.POSITIVE_INFINITY, pathLength - between))
  }, undefined)
}

/** @throws Failure bad_request for an authority below one that permits none, or a longer path than it permits */
export function requirePathLength(authority: StoredAuthority, extensions: readonly Extension[]): void {
  const wanted = readBasicConstraints(extensions)
  const left = pathLengthLeft(authority)
  if (!wanted.authority || left === undefined) return
  if (left === 0)
    throw failure('bad_request', 'The path length of the authority permits no authority below it.')
  // An authority without a path length is still bound by the path above it (RFC 5280 §6.1.4 l).
  if (wanted.pathLength !== undefined && wanted.pathLength >= left)
    throw failure('bad_request', `The path length below this authority is at most ${left - 1}.`)
}

/** An authority whose certificate lists purposes issues only for these. @throws Failure bad_request */
export function requirePurposes(
  { certificate, chain }: StoredAuthority,
  extensions: readonly Extension[],
): void {
  const wanted = readExtendedKeyUsage(extensions)
  for (const der of [certificate, ...chain]) {
    const permitted = readExtendedKeyUsage(parseOnce(der).extensions)
    if (permitted === undefined || permitted.includes(anyPurpose)) continue
    // The OCSP responder of an authority signs responses about all certificates of the authority.
    const outside = wanted?.find((each) => !permitted.includes(each) && each !== keyPurposes.OCSPSigning)
    if (outside !== undefined || (wanted === undefined && !readBasicConstraints(extensions).authority))
      throw failure('bad_request', 'The authority does not issue certificates for these purposes.')
  }
}

/** RFC 5280 §4.2.1.12 */
const anyPurpose = '2.5.29.37.0'

/**
 * Requires that no other authority of the service has the name of a sub-authority: relying parties could accept its
 * CRLs for certificates of the other one (RFC 5280 §6.3.3 (f)). The same name with the same key is the same authority,
 * and a replacement keeps the name of the replaced authority.
 * @returns the change that reserves a free name
 * @throws Failure bad_request
 */
export async function requireFreeName(
  db: Database,
  wanted: { readonly subject: Uint8Array; readonly spki: Uint8Array; readonly replaces?: string },
): Promise<readonly Change[]> {
  const { subject, spki, replaces } = wanted
  const name = hashName(subject)
  const own = issuerId({ name: subject, spki })
  const holder = await findNameHolder(db, name)
  if (holder === undefined) return [takeFreeName(name, own)]
  if (holder === own) return []
  const before = replaces === undefined ? undefined : await readAuthority(db, replaces)
  if (before !== undefined && hashName(parseOnce(before.certificate).subject) === name) return []
  throw failure(
    'bad_request',
    'subject: is the name of another authority of this service; choose another name (RFC 5280 §6.3.3).',
  )
}

/**
 * The key of an authority is in no other certificate than that of an authority, and not in one that it signs itself.
 * @throws Failure bad_request
 */
export async function requireFreeKey(
  db: Database,
  { parsed }: Authority,
  spki: Uint8Array,
  forAuthority: boolean,
): Promise<void> {
  const own = Buffer.compare(parsed.spki, spki) === 0
  if (own || (!forAuthority && (await isAuthorityKey(db, hashPublicKey(spki)))))
    throw failure('bad_request', 'The public key is that of an authority: create another one.')
}

/**
 * Profiles and days limit an authority, not its key: a client that may certify with the key of another owner's authority could
 * otherwise create an unlimited second authority with the same name and key, which relying parties cannot distinguish from the first.
 * @param key that signs the certificate of an authority, or is certified as one
 * @param owner of that certificate
 * @throws Failure forbidden
 */
export async function requireOwnAuthorityKey(
  db: Database,
  key: Pick<ManagedObject, 'owner'>,
  spki: Uint8Array,
  owner: string,
): Promise<void> {
  if (key.owner === owner || !(await isLimitedByOthers(db, hashPublicKey(spki), owner))) return
  throw failure(
    'forbidden',
    'The key is that of an authority with limits, which belongs to another owner: use the certificate of that authority as the issuer.',
  )
}
