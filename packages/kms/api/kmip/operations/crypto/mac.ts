import { andThen, type MaybePromise } from '@warder/foundation/promises'
import { Tag } from '@warder/kmip/tables'
import { byteString, type TtlvNode } from '@warder/kmip/ttlv'
import type { BackendKey } from '../../../../backend/index.ts'
import { joseMac, type MacPlan, planMac, sameTag } from '../../../../crypto/index.ts'
import type { Usage } from '../../../../keys/index.ts'
import {
  type KmipContext,
  type KmipOperation,
  keyUse,
  kmipFailure,
  uniqueIdentifier,
} from '../../engine/index.ts'
import { requireBinding } from '../../key-blocks/key-binding.ts'
import { type CryptographicRequest, requireData } from '../../streams/cryptographic-request.ts'
import { collectParts } from './collected-parts.ts'
import { algorithmInUse, findBackendKey, requireUse, resolveParameters, takeUse } from './key-use.ts'
import { validity } from './signature-verify.ts'

/** MAC (KMIP 2.1 §6.1.32): HMAC with every hash, CMAC with keys of block ciphers. */
export const mac: KmipOperation = {
  name: 'MAC',
  access: keyUse('mac'),
  act(payload, context) {
    return withMac('macGenerate', payload, context, ({ key, plan, data }) => {
      takeUse(context, context.key.object, data.length, true)
      return andThen(key.mac(plan, data), (made) => byteString(Tag.MACData, made))
    })
  },
}

/** MACVerify (KMIP 2.1 §6.1.33), in constant time. */
export const macVerify: KmipOperation = {
  name: 'MACVerify',
  access: keyUse('mac'),
  act(payload, context) {
    return withMac('macVerify', payload, context, ({ key, plan, data, request }) => {
      if (request.macData === undefined) throw kmipFailure('MissingData', 'MACData is missing.')
      const { macData } = request
      return andThen(key.mac(plan, data), (made) => validity(sameTag(made, macData)))
    })
  },
}

interface Chosen {
  readonly key: BackendKey
  readonly plan: MacPlan
  readonly data: Uint8Array
  readonly request: CryptographicRequest
}

function withMac(
  use: Extract<Usage, 'macGenerate' | 'macVerify'>,
  payload: Parameters<KmipOperation['act']>[0],
  context: KmipContext,
  answer: (chosen: Chosen) => MaybePromise<TtlvNode>,
) {
  const { object } = context.key
  requireUse(context, object, use)
  return collectParts(use === 'macGenerate' ? 'MAC' : 'MACVerify', payload, context, (request) =>
    andThen(findBackendKey(context), (key) => {
      const parameters = resolveParameters(object, request.parameters)
      const plan = planMac(
        { algorithm: algorithmInUse(object), key: key.shape },
        parameters,
        context.services.policy,
      )
      requireBinding(object, joseMac(plan))
      context.audit({ algorithm: plan.kind === 'hmac' ? `HMAC ${plan.hash.name}` : `CMAC ${plan.cipher}` })
      const made = answer({ key, plan, data: requireData(request), request })
      return andThen(made, (node) => [uniqueIdentifier(object.id), node])
    }),
  )
}
