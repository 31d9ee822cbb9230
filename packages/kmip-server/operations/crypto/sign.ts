import { planSignature, requireUse, type SignaturePlan, type ToSign, takeUse } from '@warder/keys'
import { Tag } from '@warder/kmip-codec'
import { keyUse } from '../../engine/access.ts'
import { namedObject } from '../../engine/identifiers.ts'
import { defineOperation } from '../../engine/operation.ts'
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
export function whatIsSigned({ data, digestedData }: CryptographicRequest): ToSign {
  if (digestedData !== undefined) {
    if (data !== undefined) throw kmipFailure('InvalidField', 'Data and DigestedData exclude each other.')
    return { digest: digestedData }
  }
  if (data === undefined) throw kmipFailure('MissingData', 'Data is missing.')
  return { data }
}

/** Name in the audit record. */
export function algorithmName(plan: SignaturePlan, { key }: KmipContext): string {
  const algorithm = algorithmInUse(key.object)
  return plan.scheme === 'pure' ? algorithm : `${algorithm} ${plan.scheme} ${plan.hash.name}`
}
