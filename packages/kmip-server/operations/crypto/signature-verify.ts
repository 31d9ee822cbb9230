import { planSignature, requireUse, verifyOffLoop } from '@warder/keys'
import { Tag } from '@warder/kmip-codec'
import { keyUse } from '../../engine/access.ts'
import { namedObject } from '../../engine/identifiers.ts'
import { defineOperation } from '../../engine/operation.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { requireSignatureBinding } from '../../key-blocks/key-binding.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'
import { cryptographicRequest } from '../../streams/cryptographic-request.ts'
import { collectParts } from './collected-parts.ts'
import { findBackendKey, resolveParameters } from './key-use.ts'
import { algorithmName, whatIsSigned } from './sign.ts'

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
