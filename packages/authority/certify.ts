import { createHash, X509Certificate } from 'node:crypto'
import { failure, isName } from '@warder/base'
import { stageUse, type UnitOfWork, useNowChanges } from '@warder/keys'
import {
  derBitString,
  derSequence,
  type Extension,
  issueCertificate,
  keyPurposes,
  lintWritten,
  nameText,
  type ProfileName,
  readBasicConstraints,
} from '@warder/pki'
import { readPeerCommonName } from '@warder/server'
import type { Change, Database } from '@warder/storage'
import { type Authority, toIssuer } from './authority.ts'
import { requireAuthorityNotCompromised, requireNotCompromised, toKeyId } from './compromised-key-store.ts'
import {
  requireFreeKey,
  requireFreeName,
  requireNames,
  requirePathLength,
  requirePurposes,
  requireValidity,
} from './limits.ts'
import { requireProfile } from './profile-limits.ts'
import { newSerial } from './register/certificates.ts'
import { type IssuedCertificate, insertIssuedChange, registerId } from './register/register-store.ts'

/** Placeholder of the signature, which no rule checks. */
const noSignature = derBitString(Buffer.alloc(64))

/**
 * Requires that a certificate about to be signed breaks no rule of the standards.
 * @param data the certificate without algorithm and signature
 * @throws Failure bad_request with the first rule that it breaks
 */
export function requireClean(data: Uint8Array, algorithm: Uint8Array): void {
  const [first] = lintWritten(derSequence(data, algorithm, noSignature)).filter(
    ({ severity }) => severity === 'error',
  )
  if (first !== undefined)
    throw failure('bad_request', `The certificate is not issued: ${first.sentence} (${first.clause})`)
}

/** A certificate that an authority is to sign. Times in Unix milliseconds. */
export interface WantedCertificate {
  /** DER of the name. */
  readonly subject: Uint8Array
  readonly spki: Uint8Array
  /** All extensions except the key identifiers and the addresses of revocation information. */
  readonly extensions: readonly Extension[]
  /** Extensions by which relying parties find revocations; only the service sets them. */
  readonly publication: readonly Extension[]
  readonly notBefore: number
  readonly notAfter: number
  readonly owner: string
  /** The requesting user, on whose behalf the key of the authority is used. */
  readonly by: string
  /** true: possession of the private key was proved by a signed request, or the service has that key. */
  readonly isPossessionShown: boolean
  /** `unknown`: the extensions are the caller's, but the profiles of the authority still limit them. */
  readonly profile: ProfileName | 'unknown'
  /** The certificate that this one replaces: a replacement of an authority keeps its name. */
  readonly replaces?: string
  /** The content of the INTEGER; random when it is not given. */
  readonly serial?: Uint8Array
}

/** A certificate that was signed and is not registered yet. */
export interface SignedCertificate {
  readonly der: Buffer
  /** The content of the INTEGER. */
  readonly serial: Uint8Array
  /**
   * The change that registers the certificate, which is not disclosed before this change is committed.
   * @param certificateId the object that contains it
   */
  register(certificateId: string): Change
}

/**
 * Signs a certificate within the limits of the authority, for every interface: its profiles, validity, names, path
 * length, purposes. Weak keys and keys of authorities are refused.
 * @throws Failure bad_request, crypto_failure; PkiError
 */
export async function certify(
  db: Database,
  objects: UnitOfWork,
  authority: Authority,
  wanted: WantedCertificate,
  now: number,
): Promise<SignedCertificate> {
  const { subject, spki, notBefore, notAfter, profile } = wanted
  const extensions = [...requireProfile(authority, wanted), ...wanted.publication]
  requireValidity(authority, wanted, now)
  requireNames(authority, subject, extensions)
  requirePathLength(authority, extensions)
  requirePurposes(authority, extensions)
  await requireFreeKey(db, authority, spki, readBasicConstraints(extensions).authority)
  if (readBasicConstraints(extensions).authority) objects.also(...(await requireFreeName(db, wanted)))
  await requireNotCompromised(db, spki, wanted.owner)
  await requireAuthorityNotCompromised(db, authority.parsed.spki, authority.key.object.owner)
  if (!stageUse(objects, authority.key.object, 0, true))
    throw failure('crypto_failure', 'The usage limits of the key of the authority are exhausted.')
  objects.also(...(await useNowChanges(db, authority.key.object, wanted.by, now)))
  const serial = wanted.serial ?? newSerial()
  const issuer = toIssuer(authority)
  const { signer } = authority
  const checked = {
    algorithm: signer.algorithm,
    sign: (data: Uint8Array) => {
      if (profile !== 'unknown') requireClean(data, signer.algorithm)
      return signer.sign(data)
    },
  }
  const der = await issueCertificate(
    { subject, spki, notBefore, notAfter, extensions, serial },
    { ...issuer, key: checked },
  )
  const entry: Omit<IssuedCertificate, 'certificateId'> = {
    id: registerId(authority.issuer, serial),
    issuer: authority.issuer,
    authorityId: authority.id,
    owner: wanted.owner,
    profile,
    subject: nameText(subject),
    fingerprint: createHash('sha256').update(der).digest('hex'),
    notBefore,
    notAfter,
    issuedAt: now,
    revokedAt: undefined,
    reason: undefined,
    invalidityAt: undefined,
    changedAt: now,
    crlNumber: undefined,
    version: 1,
    keyId: wanted.isPossessionShown ? toKeyId(spki) : undefined,
    clientName: profile === 'client' || profile === 'unknown' ? readClientName(der) : undefined,
  }
  return { der, serial, register: (certificateId) => insertIssuedChange({ ...entry, certificateId }) }
}

/** The user that a certificate authenticates to this service, as the handshake reads it. */
function readClientName(der: Uint8Array): string | undefined {
  const certificate = new X509Certificate(der)
  if (certificate.ca || !certificate.keyUsage?.includes(keyPurposes.clientAuth)) return undefined
  const name = readPeerCommonName(certificate)
  return name !== undefined && isName(name) ? name : undefined
}
