import { Enumeration, Tag } from '@warder/kmip/tables'
import {
  enumeration,
  integer,
  memberOf,
  optional,
  optionalName,
  type StructureNode,
  type TtlvNode,
} from '@warder/kmip/ttlv'
import {
  type Extension,
  extensionIdentifiers,
  readCertificateExtensions,
  readCertificationRequest,
} from '@warder/pki/x509'
import { issuedAs } from '../../../../authority/index.ts'
import { linkedObject, type ManagedObject, stateAt } from '../../../../keys/index.ts'
import { privateKeyOf } from '../../attributes/links.ts'
import { lengthOf, requiredAlgorithm } from '../../attributes/wanted-key.ts'
import { type KmipContext, kmipFailure } from '../../engine/index.ts'
import { certificateFacts } from '../../key-blocks/index.ts'
import { stagePair } from '../objects/create-key-pair.ts'
import { pairPlan } from '../objects/pair-kinds.ts'
import { hintsOf } from '../objects/registered-object.ts'

/** The key to certify, and its holder. */
export interface CertificateSubject {
  /** DER of the name; undefined when only the attributes can give one. */
  readonly name: Uint8Array | undefined
  readonly spki: Uint8Array
  /** As asked for, or as the certificate that is renewed has them. */
  readonly extensions: readonly Extension[]
  readonly publicKey: string | undefined
  readonly privateKey: string | undefined
  /** true: a request was signed with the private key, or the service has made that key. */
  readonly isPossessionShown: boolean
}

/**
 * The request for a certificate that the payload carries, or names as an object that is kept here; undefined when it
 * does neither.
 * @throws InvalidCSR, FeatureNotSupported; InvalidField for both; ObjectNotFound, InvalidObjectType for what it names
 */
export async function requestedSubject(
  payload: StructureNode,
  context: KmipContext,
): Promise<CertificateSubject | undefined> {
  // In 1.x the bytes stand in CertificateRequest itself (KMIP 1.4 §4.7).
  const value =
    optional(payload, Tag.CertificateRequestValue, 'ByteString') ??
    optional(payload, Tag.CertificateRequest, 'ByteString')
  const type = optionalName(payload, Tag.CertificateRequestType, 'CertificateRequestType')
  const kept = memberOf(payload, Tag.CertificateRequestUniqueIdentifier)
  if (kept === undefined) return value === undefined ? undefined : fromRequest(value, type)
  if (value !== undefined)
    throw kmipFailure('InvalidField', 'The request for a certificate is either sent or named.')
  const object = await context.permitted(context.identifier(kept), 'certify')
  if (object.type !== 'CertificateRequest')
    throw kmipFailure(
      'InvalidObjectType',
      `An object of type ${object.type} is no request for a certificate.`,
    )
  return subjectOf(context, object)
}

function fromRequest(value: Uint8Array, type: string | undefined): CertificateSubject {
  if (type === 'CRMF')
    throw kmipFailure('FeatureNotSupported', 'Certificate requests of type CRMF are not supported.')
  const { subject, spki, extensions } = readCertificationRequest(value)
  return {
    name: subject,
    spki,
    extensions: extensions.flatMap(granted),
    publicKey: undefined,
    privateKey: undefined,
    isPossessionShown: true,
  }
}

/**
 * Extensions that a request may ask for by itself: names and purposes. That it wants to be an authority counts for nothing: only
 * who calls Certify can say so.
 */
function granted(extension: Extension): readonly Extension[] {
  const { subjectAltName, createExtendedKeyUsage: extendedKeyUsage } = extensionIdentifiers
  return extension.identifier === subjectAltName || extension.identifier === extendedKeyUsage
    ? [extension]
    : []
}

/** The subject that an object is: a public key, a private key, a request, or a certificate to be renewed. */
export async function subjectOf(context: KmipContext, object: ManagedObject): Promise<CertificateSubject> {
  const state = stateAt(object, context.now)
  if (state === 'Destroyed' || state === 'Destroyed_Compromised')
    throw kmipFailure('ObjectDestroyed', 'DENIED')
  if (object.type === 'PublicKey' && state !== 'Active' && state !== 'PreActive')
    throw kmipFailure('WrongKeyLifecycleState', 'DENIED')
  const material = await context.objects.material(object)
  if (material === undefined) throw kmipFailure('KeyValueNotPresent', 'The object has no value here.')
  switch (object.type) {
    case 'PublicKey':
      if (object.form.format !== undefined)
        throw kmipFailure('InvalidObjectType', 'The public key cannot be read here.')
      return {
        name: undefined,
        spki: material,
        extensions: [],
        publicKey: object.id,
        privateKey: privateKeyOf(object),
        isPossessionShown: await hasPrivateHalf(context, object, material),
      }
    case 'CertificateRequest':
      return fromRequest(material, undefined)
    case 'Certificate': {
      const facts = certificateFacts(material)
      return {
        name: facts.subject,
        spki: facts.spki,
        extensions: readCertificateExtensions(material),
        publicKey: linkedObject(object, 'PublicKeyLink'),
        privateKey: linkedObject(object, 'PrivateKeyLink'),
        isPossessionShown: (await issuedAs(context.services.db, object.id))?.keyId !== undefined,
      }
    }
    default:
      throw kmipFailure('InvalidObjectType', `An object of type ${object.type} cannot be certified.`)
  }
}

/** A link says nothing: the private half is here where its public key is this one. */
async function hasPrivateHalf(
  { objects }: KmipContext,
  object: ManagedObject,
  spki: Uint8Array,
): Promise<boolean> {
  const id = privateKeyOf(object)
  const half = id === undefined ? undefined : await objects.read(id)
  if (half?.type !== 'PrivateKey' || half.owner !== object.owner || half.form.wrapped === true) return false
  const own = (await objects.key(half.id))?.held.publicKey?.export({ format: 'der', type: 'spki' })
  return own !== undefined && Buffer.compare(own, spki) === 0
}

/** A new pair to be certified, as the attributes describe it: Active, to sign and to verify. */
export async function newPairSubject(
  context: KmipContext,
  attributes: readonly TtlvNode[],
): Promise<CertificateSubject> {
  const plan = pairPlan({
    algorithm: requiredAlgorithm(attributes),
    bits: lengthOf(attributes),
    curve: hintsOf(attributes).curve,
  })
  const { Sign, CertificateSign, CRLSign, Verify } = Enumeration.CryptographicUsageMask
  const active = { tag: Tag.ActivationDate, type: 'DateTime', value: Math.floor(context.now / 1000) } as const
  const algorithm = enumeration(
    Tag.CryptographicAlgorithm,
    Enumeration.CryptographicAlgorithm[plan.algorithm],
  )
  const half = (mask: number) => [algorithm, integer(Tag.CryptographicUsageMask, mask), active]
  const ids = await stagePair(context, plan, half(Sign | CertificateSign | CRLSign), half(Verify))
  const open = await context.objects.read(ids.publicId)
  const spki = open === undefined ? undefined : await context.objects.material(open)
  if (spki === undefined) throw kmipFailure('GeneralFailure', 'The new key is not there.')
  return {
    name: undefined,
    spki,
    extensions: [],
    publicKey: ids.publicId,
    privateKey: ids.privateId,
    isPossessionShown: true,
  }
}

/** The object that the payload names, if it names one. */
export async function namedSubject(
  payload: StructureNode,
  context: KmipContext,
): Promise<CertificateSubject | undefined> {
  const node = memberOf(payload, Tag.UniqueIdentifier)
  if (node === undefined && context.placeholder === undefined) return undefined
  return subjectOf(context, await context.permitted(context.identifier(node), 'certify'))
}
