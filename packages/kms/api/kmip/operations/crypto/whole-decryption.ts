import type { KeyObject } from 'node:crypto'
import type { MaybePromise } from '@warder/foundation/sql'
import { atLeast, Tag } from '@warder/kmip/tables'
import { byteString, type TtlvNode } from '@warder/kmip/ttlv'
import {
  type CipherPlan,
  decryptRsa,
  decryptSymmetric,
  isKemKey,
  joseEncryption,
  modulusBits,
  openEncapsulation,
  planRsa,
  requireKem,
} from '../../../../crypto/index.ts'
import { type KmipContext, kmipFailure, uniqueIdentifier } from '../../engine/index.ts'
import { type CryptographicRequest, requireData } from '../../streams/cryptographic-request.ts'
import { algorithmInUse, parametersOf, requireBinding, then } from './key-use.ts'
import { cipherOf, requireNone } from './whole-encryption.ts'

/** A whole decryption, in one go. */
export function decryptWhole(
  key: KeyObject,
  request: CryptographicRequest,
  context: KmipContext,
): MaybePromise<readonly (TtlvNode | undefined)[]> {
  const { id } = context.key.object
  return then(opened(key, request, context), (data) => [uniqueIdentifier(id), byteString(Tag.Data, data)])
}

function opened(key: KeyObject, request: CryptographicRequest, context: KmipContext): MaybePromise<Buffer> {
  const { object } = context.key
  if (key.type === 'secret') {
    const plan = cipherOf(context, key, request)
    return decryptSymmetric(key, plan, sealedOf(request, plan, context))
  }
  requireNone(request)
  if (key.type !== 'private') throw kmipFailure('InvalidObjectType', 'A public key does not decrypt.')
  const { policy } = context.services
  const parameters = parametersOf(object, request.parameters)
  const data = requireData(request)
  if (isKemKey(key)) {
    requireKem(key, parameters, policy)
    context.audit({ algorithm: algorithmInUse(object) })
    return openEncapsulation(key, data)
  }
  if (key.asymmetricKeyType !== 'rsa')
    throw kmipFailure('UnsupportedCryptographicParameters', 'Keys of this type do not decrypt.')
  const plan = planRsa(modulusBits(key), parameters, policy)
  requireBinding(object, joseEncryption(plan))
  context.audit({ algorithm: `RSA ${plan.padding}` })
  return decryptRsa(key, plan, data)
}

/** Before 1.4 there is no member for a tag: it is the end of the data. */
function sealedOf(request: CryptographicRequest, plan: CipherPlan, { version }: KmipContext) {
  const { iv, aad, tag } = request
  const data = requireData(request)
  if (plan.tag === 0 || tag !== undefined || atLeast(version, '1.4')) return { data, iv, aad, tag }
  const end = Math.max(0, data.length - plan.tag)
  return { data: data.subarray(0, end), iv, aad, tag: data.subarray(end) }
}
