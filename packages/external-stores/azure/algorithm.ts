import {
  type AlgorithmPolicy,
  type CipherPlan,
  type CryptographicParameters,
  planCipher,
  planRsa,
  type RsaPlan,
} from '@warder/keys'
import { ekmFailure } from './errors.ts'
import type { KeyType } from './key.ts'

/** How a key is wrapped, as the cryptography plans it. */
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
 * @throws ekmFailure('UnsupportedAlgorithm') for an algorithm that is none, is of another kind of key, or is not permitted
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
