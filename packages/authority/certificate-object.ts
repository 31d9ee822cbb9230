import { failure } from '@warder/base'
import { type AlgorithmPolicy, keyFacts, requirePermitted } from '@warder/crypto'
import {
  type CreationServices,
  certificateAttributes,
  digestAttribute,
  type ManagedObject,
  type NewObject,
  newObjectDefaults,
  newObjectId,
  ObjectAttributes,
  type ObjectId,
  type ObjectLink,
  publicKeyKind,
  stageNew,
  toKmipAlgorithm,
  toStoredKeyKind,
  toStoredValue,
  type UnitOfWork,
  usageMask,
} from '@warder/keys'
import {
  type ParsedCertificate,
  parseCertificate,
  readAuthorityKeyIdentifier,
  readCertificate,
} from '@warder/pki'
import type { Database } from '@warder/storage'
import { readAuthority } from './register/authority-store.ts'
import { parseOnce } from './register/certificates.ts'

/** An X.509 certificate to store. Times in Unix milliseconds. */
interface KeptCertificate {
  readonly der: Uint8Array
  readonly owner: string
  readonly links: readonly ObjectLink[]
  readonly notBefore: number
  readonly notAfter: number
  readonly id?: ObjectId
}

/**
 * The object of a certificate that was issued or imported here, with the attributes by which every protocol finds it.
 * @throws Failure unsupported_algorithm for a key that the policy does not permit; PkiError
 */
export function certificateObject(
  { der, owner, links, notBefore, notAfter, id }: KeptCertificate,
  policy: AlgorithmPolicy,
  now: number,
): NewObject {
  const fields = readCertificate(der)
  const kind = publicKeyKind(fields.spki)
  const bits = kind?.bits
  const { algorithm, curve, boundAlg } = kind === undefined ? unknownKey : toStoredKeyKind(kind)
  requirePermitted(policy, keyFacts({ algorithm, bits, curve }))
  const activationAt = wholeSeconds(notBefore)
  const isImplied = kind === undefined || toKmipAlgorithm({ algorithm, boundAlg }) === kind.algorithm
  return {
    object: {
      ...newObjectDefaults,
      id: id ?? newObjectId(now),
      type: 'Certificate',
      algorithm,
      bits,
      curve,
      boundAlg,
      state: activationAt <= now ? 'Active' : 'PreActive',
      owner,
      usageMask: usageMask('verify', 'encrypt', 'wrapKey'),
      linkedId: undefined,
      createdAt: now,
      activationAt,
      deactivationAt: wholeSeconds(notAfter),
      form: {},
      links,
      attributes: ObjectAttributes.of([
        ...(isImplied ? [] : [toStoredValue('CryptographicAlgorithm', kind.algorithm)]),
        toStoredValue('KeyFormatType', 'X_509'),
        toStoredValue('CertificateType', 'X_509'),
        ...certificateAttributes(fields, der),
        digestAttribute(der, 'X_509'),
      ]),
    },
    material: Uint8Array.from(der),
    tags: [],
  }
}

/**
 * Stages the object of a certificate by the creation rules of its owner.
 * @throws as `certificateObject` and `applyCreationRules`
 */
export async function stageCertificateObject(
  services: CreationServices,
  objects: UnitOfWork,
  certificate: KeptCertificate,
  now: number,
): Promise<ManagedObject> {
  const made = certificateObject(certificate, services.policy, now)
  const [object] = await stageNew(objects, services, { owner: certificate.owner, now }, [made])
  if (object === undefined) throw failure('internal_error', 'the new certificate is not there')
  return object
}

const unknownKey = { algorithm: undefined, curve: undefined, boundAlg: undefined }

function wholeSeconds(at: number): number {
  return Math.floor(at / 1000) * 1000
}

/**
 * Whether a key keeps its link to a certificate when it gets another certificate. The key of an authority keeps it,
 * unless the new certificate is by the same issuer: otherwise a client that names that key as an issuer would use a
 * certificate that other parties issued.
 * @param known identifier of the certificate that the key names
 * @param der of the new certificate
 */
export async function keepsCertificate(
  db: Database,
  known: string | undefined,
  der: Uint8Array,
): Promise<boolean> {
  const authority = known === undefined ? undefined : await readAuthority(db, known)
  if (authority === undefined) return false
  return formatIssuer(parseOnce(authority.certificate)) !== formatIssuer(parseCertificate(der))
}

/** Name and key identifier of the issuer, as a certificate states them. */
function formatIssuer({ issuer, extensions }: ParsedCertificate): string {
  const key = readAuthorityKeyIdentifier(extensions) ?? new Uint8Array()
  return [issuer, key].map((bytes) => Buffer.from(bytes).toString('hex')).join()
}
