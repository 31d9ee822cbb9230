import { failure } from '@warder/base'
import type { AlgorithmPolicy } from '@warder/crypto'
import type { ManagedObject, UnitOfWork } from '@warder/keys'
import {
  type ProfileName,
  type ProfileWish,
  parseCertificate,
  profileExtensions,
  profiles,
  readBasicConstraints,
  readNameConstraints,
  readNameParts,
} from '@warder/pki'
import type { Database } from '@warder/storage'
import { toPublicationExtensions } from './addresses.ts'
import type { Authority } from './authority.ts'
import { stageCertificateObject } from './certificate-object.ts'
import { certify } from './certify.ts'
import { pathLengthLeft } from './limits.ts'
import { readAlternativeNames } from './profile-limits.ts'
import type { IssuedCertificate } from './register/register-store.ts'
import type { RevocationConfig } from './register/settings.ts'

export interface IssueServices {
  readonly db: Database
  readonly revocation: RevocationConfig
  readonly policy: AlgorithmPolicy
}

/** Request to an authority. Times in Unix milliseconds. */
export interface IssueRequest {
  readonly profile: ProfileName
  /** DER of the name. */
  readonly subject: Uint8Array
  readonly spki: Uint8Array
  /** DER of each alternative name. */
  readonly names: readonly Uint8Array[]
  readonly notBefore: number
  readonly notAfter: number
  readonly owner: string
  /** The requesting user. */
  readonly by: string
  /** true: possession of the private key was proved by a signed request, or the service has that key. */
  readonly isPossessionShown: boolean
  /** Of an authority. */
  readonly pathLength?: number
  readonly permitted?: readonly Uint8Array[]
  readonly excluded?: readonly Uint8Array[]
  readonly policies?: readonly string[]
  /** Objects of the keys, if the service has them. */
  readonly publicKey?: string
  readonly privateKey?: string
  /** The certificate that this one replaces. */
  readonly replaces?: string
  /** The content of the INTEGER; random when it is not given. */
  readonly serial?: Uint8Array
}

/** A staged certificate: it is returned only after the unit of work was committed. */
interface Issued {
  readonly der: Buffer
  /** The content of the INTEGER. */
  readonly serial: Uint8Array
  readonly object: ManagedObject
}

/**
 * Issues a certificate of a profile: signed, staged as an object and in the register, to be committed by the caller.
 * @throws Failure bad_request, unsupported_algorithm, crypto_failure, also by the owner's creation rules; PkiError
 */
export async function issue(
  services: IssueServices,
  objects: UnitOfWork,
  authority: Authority,
  request: IssueRequest,
  now: number,
): Promise<Issued> {
  const { profile, subject, spki, names, owner, notBefore, notAfter } = request
  const wish: ProfileWish = {
    spki,
    names,
    subjectIsEmpty: readNameParts(subject).length === 0,
    ...limitPathLength(authority, request),
    ...(request.permitted !== undefined && { permitted: request.permitted }),
    ...(request.excluded !== undefined && { excluded: request.excluded }),
    ...(request.policies !== undefined && { policies: request.policies }),
  }
  const extensions = profileExtensions(profile, wish)
  const wanted = {
    subject,
    spki,
    extensions,
    publication: toPublicationExtensions(services.revocation, authority),
    notBefore,
    notAfter,
    owner,
    by: request.by,
    isPossessionShown: request.isPossessionShown,
    profile,
    ...(request.serial !== undefined && { serial: request.serial }),
    ...(request.replaces !== undefined && { replaces: request.replaces }),
  }
  const signed = await certify(services.db, objects, authority, wanted, now)
  const links = [
    ...(request.publicKey === undefined ? [] : [{ kind: 'PublicKeyLink', id: request.publicKey }]),
    ...(request.privateKey === undefined ? [] : [{ kind: 'PrivateKeyLink', id: request.privateKey }]),
    { kind: 'CertificateLink', id: authority.id },
    ...(request.replaces === undefined ? [] : [{ kind: 'ReplacedObjectLink', id: request.replaces }]),
  ]
  const kept = { der: signed.der, owner, links, notBefore, notAfter }
  const object = await stageCertificateObject(services, objects, kept, now)
  objects.also(signed.register(object.id))
  return { der: signed.der, serial: signed.serial, object }
}

/** An authority below one with a path length gets the remaining length, unless it requests less. */
function limitPathLength(
  authority: Authority,
  { profile, pathLength }: IssueRequest,
): Pick<ProfileWish, 'pathLength'> {
  if (pathLength !== undefined) return { pathLength }
  const left = pathLengthLeft(authority)
  return profiles[profile].authority && left !== undefined ? { pathLength: Math.max(0, left - 1) } : {}
}

/**
 * Request for a certificate like this one: the same subject, names, key and profile.
 * @param entry of the certificate in the register
 * @throws Failure bad_request for one that was issued with extensions of its own
 */
export function requestLike(
  entry: Pick<IssuedCertificate, 'profile'>,
  der: Uint8Array,
): Pick<IssueRequest, 'profile' | 'subject' | 'spki' | 'names' | 'pathLength' | 'permitted' | 'excluded'> {
  if (entry.profile === 'unknown')
    throw failure(
      'bad_request',
      'The certificate has client-specified extensions: renew it with ReCertify, or issue another.',
    )
  const { subject, spki, extensions } = parseCertificate(der)
  const { pathLength } = readBasicConstraints(extensions)
  const constraints = readNameConstraints(extensions)
  return {
    profile: entry.profile,
    subject,
    spki,
    names: readAlternativeNames(extensions),
    ...(pathLength !== undefined && { pathLength }),
    ...(constraints !== undefined && {
      permitted: constraints.permitted.map(({ whole }) => whole),
      excluded: constraints.excluded.map(({ whole }) => whole),
    }),
  }
}
