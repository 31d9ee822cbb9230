import { andThen } from '@warder/foundation/promises'
import { Enumeration, Tag } from '@warder/kmip/tables'
import { enumeration } from '@warder/kmip/ttlv'
import { planSignature, verifyOffLoop } from '../../../../crypto/index.ts'
import { type KmipOperation, keyUse, kmipFailure, uniqueIdentifier } from '../../engine/index.ts'
import { requireSignatureBinding } from '../../key-blocks/key-binding.ts'
import { collectParts } from './collected-parts.ts'
import { findBackendKey, requireUse, resolveParameters } from './key-use.ts'
import { algorithmName, whatIsSigned } from './sign.ts'

/** SignatureVerify (KMIP 2.1 §6.1.56). A wrong signature is an answer (Invalid), not a failure. */
export const signatureVerify: KmipOperation = {
  name: 'SignatureVerify',
  access: keyUse('signatureverify'),
  act(payload, context) {
    const { object } = context.key
    requireUse(context, object, 'verify')
    return collectParts('SignatureVerify', payload, context, (request) =>
      andThen(findBackendKey(context), ({ shape, publicKey }) => {
        if (publicKey === undefined)
          throw kmipFailure('InvalidObjectType', 'Secret keys do not verify signatures.')
        if (request.signatureData === undefined) throw kmipFailure('MissingData', 'SignatureData is missing.')
        const what = whatIsSigned(request)
        const digestBytes = 'digest' in what ? what.digest.length : undefined
        const parameters = resolveParameters(object, request.parameters)
        const chosen = planSignature(shape, parameters, context.services.policy, 'verify', digestBytes)
        const plan = requireSignatureBinding(object, shape, chosen)
        context.audit({ algorithm: algorithmName(plan, context) })
        return andThen(verifyOffLoop(publicKey, plan, what, request.signatureData), (right) => [
          uniqueIdentifier(object.id),
          validity(right),
        ])
      }),
    )
  },
}

/** ValidityIndicator of an answer. */
export function validity(right: boolean) {
  const { Valid, Invalid } = Enumeration.ValidityIndicator
  return enumeration(Tag.ValidityIndicator, right ? Valid : Invalid)
}
