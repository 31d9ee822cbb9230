import type { Key } from '@warder/keys'
import { post } from '@warder/server'
import Type from 'typebox'
import { define } from '../scope/services.ts'
import { azureRight, requireEnabled, requireResolvedKey, toKeyType } from './key.ts'
import { KeyPath, RequestContext } from './request.ts'
import type { EkmRoute } from './route.ts'

/** `n` and `e` of an RSA key, base64url of their bytes, as JWK has them (RFC 7518 §6.3.1). */
function publicNumbers({ held }: Key): { readonly n?: string; readonly e?: string } {
  const { n, e } = held.publicKey?.export({ format: 'jwk' }) ?? {}
  return { ...(n !== undefined && { n }), ...(e !== undefined && { e }) }
}

/** EKM Proxy API, Get key metadata. */
export function metadataOperation(route: EkmRoute) {
  return define({
    ...route.common('metadata'),
    route: post(route.path('/{key_name}/metadata')),
    summary: 'Metadata of a key, for Azure Managed HSM',
    access: azureRight('getattributes'),
    pathParameters: KeyPath,
    request: Type.Object({ request_context: RequestContext }),
    reply: Type.Object({
      key_type: Type.String({ description: 'oct or RSA' }),
      key_size: Type.Integer(),
      key_ops: Type.Array(Type.String()),
      n: Type.Optional(Type.String()),
      e: Type.Optional(Type.String()),
    }),
    act(_input, context) {
      const key = requireResolvedKey(context)
      const keyType = toKeyType(key)
      requireEnabled(key)
      return {
        key_type: keyType,
        key_size: key.object.bits ?? 0,
        key_ops: ['wrapKey', 'unwrapKey'],
        ...(keyType === 'RSA' && publicNumbers(key)),
      }
    },
  })
}
