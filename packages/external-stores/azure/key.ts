import {
  type AlgorithmPolicy,
  type CipherPlan,
  type CryptographicParameters,
  planCipher,
  planRsa,
  type RsaPlan,
} from '@warder/crypto'
import { getChainId, Key, type Right, type UseRefusal, withheld, withheldSentences } from '@warder/keys'
import type { Access, OperationContext } from '@warder/server'
import type { Static } from 'typebox'
import { granteeNamed, requireGrantedKey } from '../scope/granted-key.ts'
import type { ExternalStoreServices } from '../scope/scope.ts'
import {
  type EkmError,
  ekmFailure,
  type RequestContext,
  recordContext,
  requireApiVersion,
} from './request.ts'

/** The key in the path, if `right` on it was granted to the pool of the certificate (docs/adr/cloud-key-stores.md). */
export function azureRight(right: Right): Access<ExternalStoreServices> {
  return {
    name: `key right granted to azure: ${right}`,
    async check({ path, query, body }, context) {
      requireApiVersion(query)
      const { request_context } = body as { readonly request_context: Static<typeof RequestContext> }
      const { key_name = '' } = path
      const pool = recordContext(context, request_context)
      context.audit({ object: key_name })
      context.found = await requireGrantedKey(context.services, granteeNamed('azure', pool), key_name, right)
    },
  }
}

/** Key found by `azureRight`. */
export function requireResolvedKey({ found }: OperationContext<ExternalStoreServices>): Key {
  if (found instanceof Key) return found
  throw ekmFailure('InternalError', 'the access check did not run')
}

type KeyType = 'oct' | 'RSA'

/** @throws ekmFailure('OperationNotAllowed') for keys that the API does not support */
export function toKeyType({ object }: Key): KeyType {
  const { type, algorithm, bits = 0 } = object
  if (type === 'SymmetricKey' && algorithm === 'AES' && bits === 256) return 'oct'
  if (type === 'PrivateKey' && algorithm === 'RSA' && [2048, 3072, 4096].includes(bits)) return 'RSA'
  throw ekmFailure(
    'OperationNotAllowed',
    'Managed HSM requires an AES key of 256 bits, or a private RSA key of 2048, 3072 or 4096 bits.',
  )
}

const refusals: Readonly<Record<UseRefusal, EkmError>> = {
  destroyed: 'KeyNotFound',
  archived: 'KeyDisabled',
  disabled: 'KeyDisabled',
  'awaits destruction': 'KeyDisabled',
  state: 'KeyDisabled',
  'not yet': 'KeyDisabled',
  'no longer': 'KeyDisabled',
  'usage mask': 'OperationNotAllowed',
  policy: 'OperationNotAllowed',
}

/** A key that is not Active is disabled for Managed HSM, for unwrapping, too. @throws ekmFailure */
export function requireEnabled(key: Key): void {
  const { state } = key
  if (state === 'Destroyed' || state === 'Destroyed_Compromised')
    throw ekmFailure('KeyNotFound', `The key is ${state}.`)
  if (state !== 'Active') throw ekmFailure('KeyDisabled', `The key is ${state}.`)
  const kept = withheld(key.object)
  if (kept !== undefined) throw ekmFailure('KeyDisabled', withheldSentences[kept])
}

/**
 * Whether the pool may use the key in this way now. The public half wraps: if the private key permits only unwrapping,
 * as in pairs that KMIP clients create, the public key must exist and permit wrapping.
 */
export async function requireEkmUse(
  key: Key,
  use: 'wrapKey' | 'unwrapKey',
  { services, principal }: OperationContext<ExternalStoreServices>,
): Promise<void> {
  requireEnabled(key)
  const now = services.clock.now()
  const verdict = key.mayUse(use, now)
  const noteUse = (): void => services.uses.note(getChainId(key.object), principal?.name ?? 'azure', now)
  if (verdict.allowed) return noteUse()
  const { linkedId, type } = key.object
  const byPublicHalf = use === 'wrapKey' && verdict.why === 'usage mask' && type === 'PrivateKey'
  if (!byPublicHalf || linkedId === undefined) throw ekmFailure(refusals[verdict.why], verdict.sentence)
  const half = await services.keys.get(linkedId)
  const other = half?.object.type === 'PublicKey' ? half.mayUse(use, now) : verdict
  if (!other.allowed) throw ekmFailure(refusals[other.why], other.sentence)
  noteUse()
}

/** The plan for wrapping a key: cipher or RSA. */
export type WrapPlan =
  | { readonly keyType: 'oct'; readonly plan: CipherPlan }
  | { readonly keyType: 'RSA'; readonly plan: RsaPlan }

/** The table of the API's algorithms (EKM Proxy API, Wrapping algorithms). */
const algorithms: Readonly<
  Record<string, { readonly keyType: KeyType; readonly parameters: CryptographicParameters }>
> = {
  A256KW: { keyType: 'oct', parameters: { blockCipherMode: 'NISTKeyWrap' } },
  A256KWP: { keyType: 'oct', parameters: { blockCipherMode: 'AESKeyWrapPadding' } },
  'RSA-OAEP-256': { keyType: 'RSA', parameters: { paddingMethod: 'OAEP', hashingAlgorithm: 'SHA_256' } },
  'RSA-OAEP': { keyType: 'RSA', parameters: { paddingMethod: 'OAEP', hashingAlgorithm: 'SHA_1' } },
}

/**
 * @param bits of the key
 * @throws ekmFailure('UnsupportedAlgorithm') for an unknown algorithm, one for another type of key, or one that is not
 *   permitted
 */
export function wrapPlan(alg: string, keyType: KeyType, bits: number, policy: AlgorithmPolicy): WrapPlan {
  const row = Object.hasOwn(algorithms, alg) ? algorithms[alg] : undefined
  if (row === undefined)
    throw ekmFailure('UnsupportedAlgorithm', `alg must be ${Object.keys(algorithms).join(', ')}.`)
  if (row.keyType !== keyType)
    throw ekmFailure('UnsupportedAlgorithm', `${alg} is not an algorithm of ${keyType} keys.`)
  return keyType === 'oct'
    ? { keyType, plan: planCipher('AES', 32, row.parameters, policy) }
    : { keyType, plan: planRsa(bits, row.parameters, policy) }
}
