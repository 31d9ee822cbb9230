import { type AlgorithmPolicy, algorithmFor, algorithms, type Key } from '@warder/keys'
import { abe } from './abe-keys.ts'

/**
 * A key that is bound to wrap keys encrypts no content: it would be used in two ways that know nothing of each other.
 * @param enc of `dir`, whose name is that of the algorithm that such a key is bound to
 * @throws failure('crypto_failure')
 */
export function requireContentKey(key: Key, enc: string): void {
  if (key.object.boundAlg?.endsWith('KW') === true) key.requireBoundTo(enc)
}

/**
 * How a content key travels; undefined if the key is the content key, or encrypts for a policy.
 * @throws failure('unsupported_algorithm')
 */
export function planManagement(alg: string, policy: AlgorithmPolicy) {
  if (alg === 'dir' || alg === abe) return undefined
  return algorithms[alg]?.use === 'other key management'
    ? algorithmFor('other key management', alg, policy)
    : algorithmFor('key management', alg, policy)
}
