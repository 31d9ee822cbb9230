import { type BackendKey, joseMac, type MacPlan, planMac, sameTag } from '@warder/crypto'
import { requireUse, takeUse, type Usage } from '@warder/keys'
import { Tag } from '@warder/kmip-codec'
import { defineOperation, keyUse, namedObject } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { requireBinding } from '../../key-blocks/key-binding.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'
import {
  type CryptographicRequest,
  cryptographicRequest,
  requireData,
} from '../../streams/cryptographic-request.ts'
import { collectParts } from './collected-parts.ts'
import { algorithmInUse, findBackendKey, resolveParameters } from './key-use.ts'
import { validityReply } from './sign.ts'

/** MAC (KMIP 2.1 §6.1.32): HMAC with every hash, CMAC with keys of block ciphers. */
export const mac = defineOperation({
  name: 'MAC',
  reach: ['make mac', 'change limits'],
  access: keyUse('mac'),
  request: cryptographicRequest,
  reply: definePayload({
    uniqueIdentifier: required(namedObject),
    macData: field.bytes(Tag.MACData),
    correlation: field.bytes(Tag.CorrelationValue),
  }),
  handle(asked, context) {
    return withMac('macGenerate', asked, context, async ({ key, plan, data }) => {
      const { object } = context.key
      takeUse(context, object, data.length, true)
      return { uniqueIdentifier: object.id, macData: await key.mac(plan, data) }
    })
  },
})

/** MACVerify (KMIP 2.1 §6.1.33), in constant time. */
export const macVerify = defineOperation({
  name: 'MACVerify',
  reach: ['reveal validity'],
  access: keyUse('mac'),
  request: cryptographicRequest,
  reply: validityReply,
  handle(asked, context) {
    return withMac('macVerify', asked, context, async ({ key, plan, data, request }) => {
      if (request.macData === undefined) throw kmipFailure('MissingData', 'MACData is missing.')
      const { macData } = request
      const validity = sameTag(await key.mac(plan, data), macData) ? ('Valid' as const) : ('Invalid' as const)
      return { uniqueIdentifier: context.key.object.id, validity }
    })
  },
})

interface Chosen {
  readonly key: BackendKey
  readonly plan: MacPlan
  readonly data: Uint8Array
  readonly request: CryptographicRequest
}

function withMac<Reply>(
  use: Extract<Usage, 'macGenerate' | 'macVerify'>,
  asked: CryptographicRequest,
  context: KmipContext,
  answer: (chosen: Chosen) => Promise<Reply>,
) {
  const { object } = context.key
  requireUse(context, object, use)
  return collectParts(use === 'macGenerate' ? 'MAC' : 'MACVerify', asked, context, async (request) => {
    const key = await findBackendKey(context)
    const parameters = resolveParameters(object, request.parameters)
    const plan = planMac(
      { algorithm: algorithmInUse(object), key: key.shape },
      parameters,
      context.services.policy,
    )
    requireBinding(object, joseMac(plan))
    context.audit({ algorithm: plan.kind === 'hmac' ? `HMAC ${plan.hash.name}` : `CMAC ${plan.cipher}` })
    return answer({ key, plan, data: requireData(request), request })
  })
}
