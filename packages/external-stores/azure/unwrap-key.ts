import { encodeBase64Url, type Key } from '@warder/keys'
import { post } from '@warder/server'
import { define } from '../scope/services.ts'
import { type WrapPlan, wrapPlan } from './algorithm.ts'
import { ekmFailure } from './errors.ts'
import { azureRight, requireEkmUse, requireResolvedKey, toKeyType } from './key.ts'
import { decodeValue, KeyPath } from './request.ts'
import type { EkmRoute } from './route.ts'
import { WrapReply, WrapRequest } from './wrap-key.ts'

/** Bytes that the largest RSA key wraps to. */
const maxRsaBytes = 512

async function unwrapValue(key: Key, wrap: WrapPlan, value: Buffer): Promise<Buffer> {
  if (wrap.keyType === 'oct')
    return key.held.decrypt(wrap.plan, { data: value, iv: undefined, aad: undefined, tag: undefined })
  if (value.length > maxRsaBytes)
    throw ekmFailure('InvalidRequest', `value must have at most ${maxRsaBytes} bytes.`)
  return key.held.decryptRsa(wrap.plan, value)
}

/** EKM Proxy API, Unwrap key. */
export function unwrapKeyOperation(route: EkmRoute) {
  return define({
    ...route.common('unwrapkey'),
    route: post(route.path('/{key_name}/unwrapkey')),
    summary: 'Unwrap a key for Azure Managed HSM',
    access: azureRight('decrypt'),
    pathParameters: KeyPath,
    request: WrapRequest,
    reply: WrapReply,
    async act({ body: { alg, value } }, context) {
      const key = requireResolvedKey(context)
      const keyType = toKeyType(key)
      const plan = wrapPlan(alg, keyType, key.object.bits ?? 0, context.services.policy)
      const bytes = decodeValue(value)
      context.audit({ algorithm: alg })
      await requireEkmUse(key, 'unwrapKey', context)
      key.requireBoundTo(alg)
      const opened = await unwrapValue(key, plan, bytes)
      const reply = { value: encodeBase64Url(opened) }
      opened.fill(0)
      return reply
    },
  })
}
