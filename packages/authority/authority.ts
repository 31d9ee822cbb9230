import { failure } from '@warder/base'
import {
  type AlgorithmPolicy,
  algorithms,
  type BackendKey,
  type CryptographicParameters,
  joseSignature,
  planSignature,
  refuse,
} from '@warder/crypto'
import {
  findGrants,
  type Key,
  type ManagedObject,
  mayUse,
  stateAt,
  type UnitOfWork,
  usage,
  withheld,
  withheldSentences,
} from '@warder/keys'
import {
  type CertificateSigner,
  certificateSigner,
  type Issuer,
  listIssuerKeys,
  type ParsedCertificate,
  parseCertificate,
  readBasicConstraints,
  readKeyIdentifier,
  readKeyUsage,
  rsaSignatureAlgorithm,
} from '@warder/pki'
import type { Change, Database } from '@warder/storage'
import {
  authorityChanges,
  holdName,
  readAuthority,
  type StoredAuthority,
} from './register/authority-store.ts'
import { hashName, hashPublicKey, issuerId, parseOnce } from './register/certificates.ts'
import { findIssued, registerId } from './register/register-store.ts'

/**
 * How a stored key signs certificates, CRLs and OCSP responses: inside its backend, by an algorithm that relying
 * parties support (RFC 4055 §3 and §5, RFC 5758 §3.2, RFC 8410, RFC 9881, RFC 9909).
 * @param boundAlg the one JOSE algorithm of the key; undefined: it is not bound
 * @throws CryptoFailure for keys that do not sign, Failure unsupported_algorithm for algorithms that the policy does
 *   not permit,
 *   crypto_failure for a key that is bound to something else, PkiError `cannot_sign`
 */
export function createSigner(
  held: BackendKey,
  policy: AlgorithmPolicy,
  boundAlg: string | undefined,
): CertificateSigner {
  const { publicKey, shape } = held
  if (publicKey === undefined) throw refuse('wrong_key', 'Certificates must be signed with a private key.')
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const plan = planSignature(shape, parametersFor(held, boundAlg), policy, 'sign')
  if (boundAlg !== undefined && !joseSignature(shape, plan).includes(boundAlg))
    throw failure('crypto_failure', `The key is bound to ${boundAlg}: it cannot sign certificates.`)
  const algorithm =
    plan.scheme === 'pkcs1' || plan.scheme === 'pss'
      ? rsaSignatureAlgorithm(plan.scheme, plan.hash.node as 'sha256')
      : certificateSigner(publicKey, spki).algorithm
  return { algorithm, sign: async (data) => held.sign(plan, { data }) }
}

/**
 * RSA keys sign by PKCS#1 v1.5 with SHA-256, unless they are bound to another algorithm; EC keys with a hash as strong
 * as the curve (SP 800-57 part 1, table 3).
 */
function parametersFor({ shape }: BackendKey, boundAlg: string | undefined): CryptographicParameters {
  switch (shape.asymmetricKeyType) {
    case 'rsa':
      return rsaParameters(boundAlg)
    case 'ec':
      return { hashingAlgorithm: selectHash(shape.asymmetricKeyDetails?.namedCurve) }
    default:
      return {}
  }
}

function rsaParameters(boundAlg = 'RS256'): CryptographicParameters {
  const row = algorithms[boundAlg]
  const plan = row?.use === 'signature' ? row.plan : undefined
  return plan?.scheme === 'pkcs1' || plan?.scheme === 'pss'
    ? {
        paddingMethod: plan.scheme === 'pss' ? 'PSS' : 'PKCS1V1_5',
        hashingAlgorithm: plan.hash.name,
      }
    : { paddingMethod: 'PKCS1V1_5', hashingAlgorithm: 'SHA_256' }
}

function selectHash(curve: string | undefined): 'SHA_256' | 'SHA_384' | 'SHA_512' {
  switch (curve) {
    case 'secp384r1':
    case 'brainpoolP384r1':
      return 'SHA_384'
    case 'secp521r1':
    case 'brainpoolP512r1':
      return 'SHA_512'
    default:
      return 'SHA_256'
  }
}

/** KMIP 2.1 §12.1: Certificate Sign. A key with it signs certificates, even if it may not sign other data. */
export const certificateSign = 0x1000

/** An authority that may issue now. */
export interface Authority extends StoredAuthority {
  readonly parsed: ParsedCertificate
  readonly key: Key
  readonly signer: CertificateSigner
}

interface AuthorityServices {
  readonly db: Database
  readonly policy: AlgorithmPolicy
}

/** The authority with this certificate, whether or not it may issue now. */
export function findAuthority(db: Database, id: string): Promise<StoredAuthority | undefined> {
  return readAuthority(db, id)
}

/**
 * Opens an authority for issuance. The caller of this function checks the right `certify` on its certificate.
 * @throws Failure crypto_failure when it may not issue now: its key is not usable, or it or an authority above it is
 *   revoked or expired
 */
export async function openAuthority(
  services: AuthorityServices,
  objects: Pick<UnitOfWork, 'read' | 'key'>,
  stored: StoredAuthority,
  now: number,
): Promise<Authority> {
  const certificate = await objects.read(stored.id)
  const parsed = parseOnce(stored.certificate)
  requireIssuing(certificate, parsed, now)
  await requireGood(services.db, stored, now)
  const key = await objects.key(stored.keyId)
  if (key === undefined)
    throw failure('crypto_failure', 'The service no longer has the private key of the authority.')
  await requireAuthorityKey(services.db, certificate, key)
  return { ...stored, parsed, key, signer: authoritySigner(key, parsed, services.policy, now) }
}

/**
 * Requires that the owner of the authority owns its key, or still has the right to certify with it: without that right
 * the authority can no longer sign.
 */
async function requireAuthorityKey(
  db: Database,
  certificate: Pick<ManagedObject, 'owner'>,
  { object }: Key,
): Promise<void> {
  if (object.owner === certificate.owner) return
  const grants = await findGrants(db, object, { name: certificate.owner })
  if (!grants.some(({ operation }) => operation === 'certify'))
    throw failure('crypto_failure', 'The owner of the authority no longer has the right certify on its key.')
}

/**
 * Returns how the key of an authority signs.
 * @throws Failure crypto_failure when the key may not sign now, or does not match the certificate
 */
export function authoritySigner(
  key: Key,
  { spki }: Pick<ParsedCertificate, 'spki'>,
  policy: AlgorithmPolicy,
  now: number,
): CertificateSigner {
  const { object } = key
  const signs = (object.usageMask & certificateSign) !== 0 ? object.usageMask | usage.sign : object.usageMask
  const verdict = mayUse({ ...object, usageMask: signs }, 'sign', now, policy)
  if (!verdict.allowed) throw failure('crypto_failure', `The key of the authority: ${verdict.sentence}`)
  const { spki: own, signer } = prepareKey(key, policy)
  if (!own.equals(spki))
    throw failure('crypto_failure', 'The key of the authority does not match its certificate.')
  return signer
}

interface Prepared {
  readonly policy: AlgorithmPolicy
  readonly spki: Buffer
  readonly signer: CertificateSigner
}

/** Caches how a key signs, which does not change; whether it may sign is checked each time. */
const preparedKeys = new WeakMap<BackendKey, Prepared>()

function prepareKey({ held, object }: Key, policy: AlgorithmPolicy): Prepared {
  const before = preparedKeys.get(held)
  if (before?.policy === policy) return before
  const signer = createSigner(held, policy, object.boundAlg)
  const spki = held.publicKey?.export({ format: 'der', type: 'spki' }) ?? Buffer.alloc(0)
  const made = { policy, spki, signer }
  preparedKeys.set(held, made)
  return made
}

function requireIssuing(
  certificate: ManagedObject | undefined,
  { notBefore, notAfter }: ParsedCertificate,
  now: number,
): asserts certificate is ManagedObject {
  if (certificate === undefined)
    throw failure('crypto_failure', 'The service no longer has the certificate of the authority.')
  const kept = withheld(certificate)
  if (kept !== undefined)
    throw failure('crypto_failure', `The certificate of the authority: ${withheldSentences[kept]}`)
  const state = stateAt(certificate, now)
  if (now < notBefore || now > notAfter)
    throw failure(
      'crypto_failure',
      'The certificate of the authority is not valid at present: it cannot issue certificates.',
    )
  if (state !== 'Active')
    throw failure(
      'crypto_failure',
      `The certificate of the authority is ${state}: it cannot issue certificates.`,
    )
}

/** Requires that neither the authority nor any known authority above it is revoked or on hold. */
async function requireGood(db: Database, stored: StoredAuthority, now: number): Promise<void> {
  const path = [stored.certificate, ...stored.chain].map(parseOnce)
  for (const [index, certificate] of path.entries()) {
    const above = path[index + 1]
    if (now > certificate.notAfter)
      throw failure(
        'crypto_failure',
        'A certificate above the authority has expired: it cannot issue certificates.',
      )
    if (above === undefined) return
    const issuer = issuerId({ name: above.subject, spki: above.spki })
    const entry = await findIssued(db, registerId(issuer, certificate.serial))
    if (entry?.revokedAt !== undefined)
      throw failure(
        'crypto_failure',
        'The authority, or one above it, is revoked: it cannot issue certificates.',
      )
  }
}

/** The authority as an issuer of certificates. */
export function toIssuer({ parsed, signer }: Pick<Authority, 'parsed' | 'signer'>): Issuer {
  const { subject, spki, extensions } = parsed
  return { name: subject, key: signer, spki, keyIdentifier: readKeyIdentifier(extensions) }
}

/** @throws Failure bad_request for a certificate that is not one of an authority */
function requireAuthorityCertificate({ extensions }: ParsedCertificate): void {
  const uses = readKeyUsage(extensions)
  if (!readBasicConstraints(extensions).authority || uses?.includes('keyCertSign') === false)
    throw failure('bad_request', 'The certificate is not that of an authority.')
}

/**
 * Registers the certificate object of an authority as an authority of this service. Committed with the object, or
 * alone.
 * @throws Failure bad_request, PkiError for other certificates
 */
export function newAuthority(
  db: Database,
  made: Omit<StoredAuthority, 'issuer'>,
): { readonly authority: StoredAuthority; readonly changes: Change[] } {
  const parsed = parseCertificate(made.certificate)
  requireAuthorityCertificate(parsed)
  const names = { name: parsed.subject, spki: parsed.spki }
  const authority: StoredAuthority = { ...made, issuer: issuerId(names) }
  const changes = authorityChanges(db, authority, hashPublicKey(parsed.spki), listIssuerKeys(names))
  return { authority, changes: [...changes, holdName(hashName(parsed.subject), authority.issuer)] }
}
