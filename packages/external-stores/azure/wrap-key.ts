import { afterCountingUse, encodeBase64Url, encryptRsa, type Key } from '@warder/keys'
import { post } from '@warder/server'
import Type from 'typebox'
import { define } from '../scope/services.ts'
import { type WrapPlan, wrapPlan } from './algorithm.ts'
import { ekmFailure } from './errors.ts'
import { azureRight, requireEkmUse, requireResolvedKey, toKeyType } from './key.ts'
import { decodeValue, KeyPath, RequestContext } from './request.ts'
import type { EkmRoute } from './route.ts'

export const WrapRequest = Type.Object({
  request_context: RequestContext,
  alg: Type.String({ maxLength: 64, description: 'A256KW, A256KWP, RSA-OAEP-256 or RSA-OAEP' }),
  value: Type.String({ description: 'base64url' }),
})
export const WrapReply = Type.Object({ value: Type.String({ description: 'base64url' }) })

/** Fewest bytes that AES wraps here. */
const minAesBytes = 8

async function wrapValue(key: Key, wrap: WrapPlan, value: Buffer): Promise<Buffer> {
  if (wrap.keyType === 'oct') {
    if (value.length < minAesBytes)
      throw ekmFailure('InvalidRequest', `value must have at least ${minAesBytes} bytes.`)
    const { data } = await key.held.encrypt(wrap.plan, { data: value, iv: undefined, aad: undefined })
    return data
  }
  const { publicKey } = key.held
  if (publicKey === undefined) throw ekmFailure('InternalError', 'an RSA key has no public half')
  return encryptRsa(publicKey, wrap.plan, value)
}

/** EKM Proxy API, Wrap key. */
export function wrapKeyOperation(route: EkmRoute) {
  return define({
    ...route.common('wrapkey'),
    route: post(route.path('/{key_name}/wrapkey')),
    summary: 'Wrap a key for Azure Managed HSM',
    access: azureRight('encrypt'),
    pathParameters: KeyPath,
    request: WrapRequest,
    reply: WrapReply,
    async act({ body: { alg, value } }, context) {
      const key = requireResolvedKey(context)
      const keyType = toKeyType(key)
      const plan = wrapPlan(alg, keyType, key.object.bits ?? 0, context.services.policy)
      const bytes = decodeValue(value)
      context.audit({ algorithm: alg })
      await requireEkmUse(key, 'wrapKey', context)
      key.requireBoundTo(alg)
      const wrapped = await wrapValue(key, plan, bytes)
      return await afterCountingUse(context, key, bytes.length, { value: encodeBase64Url(wrapped) })
    },
  })
}
