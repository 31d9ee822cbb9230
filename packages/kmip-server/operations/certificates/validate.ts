import { findLinkTarget, type ManagedObject } from '@warder/keys'
import { findMember, Tag, type TtlvNode } from '@warder/kmip-codec'
import { maxChainLength, PkiError, type Validity } from '@warder/pki'
import { signedIn } from '../../engine/access.ts'
import { namedObject } from '../../engine/identifiers.ts'
import { defineOperation } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { KmipFailure, kmipFailure } from '../../failure/failure.ts'
import { definePayload, field, repeated, required } from '../../payloads/payload.ts'
import { chainValidity, isEnded } from './certification-path.ts'

/**
 * Validate (KMIP 2.1 §6.1.57): is this certificate chain valid at a time? Stored certificates add their issuers by
 * their links, and local authorities complete the chain. Signatures, dates, path lengths, name constraints and usages
 * are checked, and revocation: in the registers of local authorities, and on CRLs that are fetched from the addresses
 * in certificates of external authorities. A chain that breaks a rule or is revoked is Invalid; a chain without a root
 * is Unknown.
 */
export const validate = defineOperation({
  name: 'Validate',
  reach: ['reveal validity'],
  asks: ['validate'],
  access: signedIn,
  request: definePayload({
    certificates: repeated(field.node(Tag.Certificate, 'Structure')),
    uniqueIdentifiers: repeated(namedObject),
    validityDate: field.date(Tag.ValidityDate),
  }),
  reply: definePayload({ validity: required(field.named('ValidityIndicator')) }),
  async handle({ certificates, uniqueIdentifiers: named, validityDate: seconds }, context) {
    const at = seconds === undefined ? context.now : seconds * 1000
    const sent = certificates.map(certificateIn)
    if (sent.length + named.length === 0 && context.placeholder === undefined)
      throw kmipFailure('MissingData', 'No certificate is given.')
    const nodes = sent.length + named.length === 0 ? [undefined] : named
    if (sent.length + nodes.length > maxChainLength)
      throw kmipFailure('InvalidField', `A chain may have at most ${maxChainLength} certificates.`)
    const kept: ManagedObject[] = []
    for (const node of nodes) kept.push(await requirePermitted(context, context.identifier(node)))
    await addIssuers(context, kept)
    return { validity: await validateChain(context, sent, kept, at) }
  },
})

/** A Certificate structure (KMIP), or its bytes alone as some clients send them. */
function certificateIn(node: TtlvNode): Uint8Array {
  const value = node.type === 'Structure' ? findMember(node, Tag.CertificateValue) : node
  if (value?.type !== 'ByteString')
    throw kmipFailure('InvalidField', 'A certificate must be a structure with its value, or bytes.')
  return value.value
}

async function requirePermitted(context: KmipContext, id: string): Promise<ManagedObject> {
  const object = await context.permitted(id, 'validate')
  if (object.type !== 'Certificate')
    throw kmipFailure('InvalidObjectType', `Validate does not support objects of type ${object.type}.`)
  return object
}

/** Stored issuers that the caller may validate; without one the chain ends. */
async function addIssuers(context: KmipContext, kept: ManagedObject[]): Promise<void> {
  for (let index = 0; index < kept.length && kept.length < maxChainLength; index += 1) {
    const object = kept[index]
    const issuer = object === undefined ? undefined : findLinkTarget(object, 'CertificateLink')
    if (issuer === undefined || kept.some(({ id }) => id === issuer)) continue
    try {
      kept.push(await requirePermitted(context, issuer))
    } catch (error) {
      if (!(error instanceof KmipFailure)) throw error
    }
  }
}

async function validateChain(
  context: KmipContext,
  sent: readonly Uint8Array[],
  kept: readonly ManagedObject[],
  at: number,
): Promise<Validity> {
  const chain = [...sent]
  for (const object of kept) {
    if (isEnded(context, object)) return 'Invalid'
    const material = await context.objects.material(object)
    if (material === undefined) return 'Invalid'
    chain.push(material)
  }
  try {
    return await chainValidity(context, chain, at)
  } catch (error) {
    // Bytes that cannot be parsed as a certificate are Invalid.
    if (error instanceof PkiError) return 'Invalid'
    throw error
  }
}
