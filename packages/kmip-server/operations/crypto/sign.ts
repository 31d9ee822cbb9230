import { planSignature, type SignaturePlan, type ToSign, verifyOffLoop } from '@warder/crypto'
import { requireUse, takeUse } from '@warder/keys'
import { Tag } from '@warder/kmip-codec'
import { defineOperation, keyUse, namedObject } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { requireSignatureBinding } from '../../key-blocks/key-binding.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'
import { type CryptographicRequest, cryptographicRequest } from '../../streams/cryptographic-request.ts'
import { collectParts } from './collected-parts.ts'
import { algorithmInUse, findBackendKey, resolveParameters } from './key-use.ts'

/** Sign (KMIP 2.1 §6.1.55): data, or a digest of it that the client made. ECDSA and DSA signatures are DER. */
export const sign = defineOperation({
  name: 'Sign',
  reach: ['make signature', 'change limits'],
  access: keyUse('sign'),
  request: cryptographicRequest,
  reply: definePayload({
    uniqueIdentifier: required(namedObject),
    signatureData: field.bytes(Tag.SignatureData),
    correlation: field.bytes(Tag.CorrelationValue),
  }),
  handle(asked, context) {
    const { object } = context.key
    requireUse(context, object, 'sign')
    return collectParts('Sign', asked, context, async (request) => {
      const key = await findBackendKey(context)
      if (key.shape.type !== 'private') throw kmipFailure('InvalidObjectType', 'Only private keys can sign.')
      const what = whatIsSigned(request)
      const digestBytes = 'digest' in what ? what.digest.length : undefined
      const parameters = resolveParameters(object, request.parameters)
      const chosen = planSignature(key.shape, parameters, context.services.policy, 'sign', digestBytes)
      const plan = requireSignatureBinding(object, key.shape, chosen)
      takeUse(context, object, ('digest' in what ? what.digest : what.data).length, true)
      context.audit({ algorithm: algorithmName(plan, context) })
      return { uniqueIdentifier: object.id, signatureData: await key.sign(plan, what) }
    })
  },
})

/** Data or its digest, exactly one of them. @throws MissingData, InvalidField */
function whatIsSigned({ data, digestedData }: CryptographicRequest): ToSign {
  if (digestedData !== undefined) {
    if (data !== undefined) throw kmipFailure('InvalidField', 'Data and DigestedData exclude each other.')
    return { digest: digestedData }
  }
  if (data === undefined) throw kmipFailure('MissingData', 'Data is missing.')
  return { data }
}

/** Name in the audit record. */
function algorithmName(plan: SignaturePlan, { key }: KmipContext): string {
  const algorithm = algorithmInUse(key.object)
  return plan.scheme === 'pure' ? algorithm : `${algorithm} ${plan.scheme} ${plan.hash.name}`
}

/** The reply of an operation that verifies. */
export const validityReply = definePayload({
  uniqueIdentifier: required(namedObject),
  validity: field.named('ValidityIndicator'),
  correlation: field.bytes(Tag.CorrelationValue),
})

/** SignatureVerify (KMIP 2.1 §6.1.56). A wrong signature is an answer (Invalid), not a failure. */
export const signatureVerify = defineOperation({
  name: 'SignatureVerify',
  reach: ['reveal validity'],
  access: keyUse('signatureverify'),
  request: cryptographicRequest,
  reply: validityReply,
  handle(asked, context) {
    const { object } = context.key
    requireUse(context, object, 'verify')
    return collectParts('SignatureVerify', asked, context, async (request) => {
      const { shape, publicKey } = await findBackendKey(context)
      if (publicKey === undefined)
        throw kmipFailure('InvalidObjectType', 'Secret keys cannot verify signatures.')
      if (request.signatureData === undefined) throw kmipFailure('MissingData', 'SignatureData is missing.')
      const what = whatIsSigned(request)
      const digestBytes = 'digest' in what ? what.digest.length : undefined
      const parameters = resolveParameters(object, request.parameters)
      const chosen = planSignature(shape, parameters, context.services.policy, 'verify', digestBytes)
      const plan = requireSignatureBinding(object, shape, chosen)
      context.audit({ algorithm: algorithmName(plan, context) })
      const isValid = await verifyOffLoop(publicKey, plan, what, request.signatureData)
      return { uniqueIdentifier: object.id, validity: isValid ? ('Valid' as const) : ('Invalid' as const) }
    })
  },
})
