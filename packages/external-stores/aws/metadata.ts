import { type AlgorithmPolicy, allows, type Key, type Usage, withheld } from '@warder/keys'
import { post } from '@warder/server'
import Type from 'typebox'
import { define } from '../scope/services.ts'
import { xksFailure } from './errors.ts'
import { awsRight, isAes256Gcm, permitsGcm, requireResolvedKey } from './key.ts'
import { KeyPath, RequestMetadata } from './request.ts'
import type { XksRoute } from './route.ts'

const usages: readonly (readonly [name: string, use: Usage])[] = [
  ['ENCRYPT', 'encrypt'],
  ['DECRYPT', 'decrypt'],
  ['SIGN', 'sign'],
  ['VERIFY', 'verify'],
  ['WRAP', 'wrapKey'],
  ['UNWRAP', 'unwrapKey'],
  ['DERIVE', 'deriveKey'],
]

/** AWS KMS accepts only `AES_256`; other keys report their own specification. */
function keySpec({ object }: Key): string {
  return `${object.algorithm ?? object.type}${object.bits === undefined ? '' : `_${object.bits}`}`
}

function keyUsage(key: Key, policy: AlgorithmPolicy): readonly string[] {
  const may = usages.filter(([, use]) => allows(key.object.usageMask, use)).map(([name]) => name)
  // A key that is bound to another algorithm does no AES-GCM.
  const isAes256 = key.object.algorithm === 'AES' && key.object.bits === 256
  const gcm = !isAes256 || (isAes256Gcm(key) && permitsGcm(policy))
  return gcm ? may : may.filter((name) => name !== 'ENCRYPT' && name !== 'DECRYPT')
}

/** XKS Proxy API, GetKeyMetadata. */
export function metadataOperation(route: XksRoute) {
  return define({
    ...route.common('metadata'),
    route: post(route.path('/keys/{externalKeyId}/metadata')),
    summary: 'Metadata of a key, for AWS KMS',
    access: awsRight(route, 'getattributes', 'newest'),
    pathParameters: KeyPath,
    request: Type.Object({ requestMetadata: RequestMetadata }),
    reply: Type.Object({
      keySpec: Type.String(),
      keyUsage: Type.Array(Type.String()),
      keyStatus: Type.String({ description: 'ENABLED or DISABLED' }),
    }),
    act(_input, context) {
      const key = requireResolvedKey(context)
      const { state } = key
      if (state === 'Destroyed' || state === 'Destroyed_Compromised')
        throw xksFailure('KeyNotFoundException', `The key is ${state}.`)
      const enabled = state === 'Active' && withheld(key.object) === undefined
      return {
        keySpec: keySpec(key),
        keyUsage: keyUsage(key, context.services.policy),
        keyStatus: enabled ? 'ENABLED' : 'DISABLED',
      }
    },
  })
}
