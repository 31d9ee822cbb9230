import { type CertificateSubject, findSubject, readSubject } from '@warder/authority'
import { pairPlan } from '@warder/keys'
import { Enumeration, enumeration, integer, Tag, type TtlvNode } from '@warder/kmip-codec'
import { readLength, requireAlgorithm } from '../../attributes/wanted-key.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { type Decoded, field } from '../../payloads/payload.ts'
import { stagePair } from '../objects/create-key-pair.ts'
import { readHints } from '../objects/registered-object.ts'

/** The members of a request for a certificate that contain or name a CSR. */
export const csrFields = {
  certificateRequestUniqueIdentifier: field.identifier(Tag.CertificateRequestUniqueIdentifier),
  certificateRequestType: field.named('CertificateRequestType'),
  certificateRequestValue: field.bytes(Tag.CertificateRequestValue),
  // In 1.x CertificateRequest itself contains the bytes (KMIP 1.4 §4.7).
  certificateRequest: field.bytes(Tag.CertificateRequest),
}

/**
 * The CSR that the request contains, or names as a stored object; undefined when it does neither.
 * @throws InvalidCSR, FeatureNotSupported; InvalidField for both; ObjectNotFound, InvalidObjectType for the named
 *   object
 */
export async function readRequestedSubject(
  request: Decoded<typeof csrFields>,
  context: KmipContext,
): Promise<CertificateSubject | undefined> {
  const value = request.certificateRequestValue ?? request.certificateRequest
  const kept = request.certificateRequestUniqueIdentifier
  if (kept === undefined)
    return value === undefined ? undefined : fromRequest(value, request.certificateRequestType)
  if (value !== undefined)
    throw kmipFailure('InvalidField', 'The certificate request must be either sent or identified, not both.')
  const object = await context.permitted(context.identifier(kept), 'certify')
  if (object.type !== 'CertificateRequest')
    throw kmipFailure('InvalidObjectType', `An object of type ${object.type} is not a certificate request.`)
  return findSubject(context, object)
}

function fromRequest(value: Uint8Array, type: string | undefined): CertificateSubject {
  if (type === 'CRMF')
    throw kmipFailure('FeatureNotSupported', 'Certificate requests of type CRMF are not supported.')
  return readSubject(value)
}

/** A new pair to certify, described by the attributes: Active, to sign and to verify. */
export async function newPairSubject(
  context: KmipContext,
  attributes: readonly TtlvNode[],
): Promise<CertificateSubject> {
  const plan = pairPlan({
    algorithm: requireAlgorithm(attributes),
    bits: readLength(attributes),
    curve: readHints(attributes).curve,
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
  if (spki === undefined) throw kmipFailure('GeneralFailure', 'The new key does not exist.')
  return {
    name: undefined,
    spki,
    extensions: [],
    publicKey: ids.publicId,
    privateKey: ids.privateId,
    isPossessionShown: true,
  }
}

/** The object that the request names, if it names one. */
export async function readNamedSubject(
  node: TtlvNode | undefined,
  context: KmipContext,
): Promise<CertificateSubject | undefined> {
  if (node === undefined && context.placeholder === undefined) return undefined
  return findSubject(context, await context.permitted(context.identifier(node), 'certify'))
}
