import { Enumeration } from '@warder/kmip/tables'
import {
  algorithms,
  keyTypes,
  type PolicyList,
  plainName,
  policyLists,
  recommendedNames,
} from '../crypto/index.ts'
import { type AlgorithmName, toStoredKeyKind } from '../keys/index.ts'
import type { AlgorithmConfig } from './algorithm-settings.ts'

const keysOf = (table: object): readonly string[] => Object.keys(table)
const { CryptographicAlgorithm, DigitalSignatureAlgorithm, HashingAlgorithm, MaskGenerator } = Enumeration

/** Names that a policy may be asked about, beside those that it recommends. Sizes are numbers, which are checked as such. */
const names: Partial<Readonly<Record<PolicyList, readonly string[]>>> = {
  algorithms: [...keysOf(CryptographicAlgorithm), 'EC', 'HMAC'],
  hashes: keysOf(HashingAlgorithm),
  signature_algorithms: [
    ...keysOf(DigitalSignatureAlgorithm),
    ...keysOf(CryptographicAlgorithm),
    ...keysOf(algorithms),
  ],
  curves: keysOf(Enumeration.RecommendedCurve),
  block_cipher_modes: keysOf(Enumeration.BlockCipherMode),
  padding_methods: [...keysOf(Enumeration.PaddingMethod), 'PKCS1v15'],
  mgf_hashes: keysOf(HashingAlgorithm),
  mask_generators: keysOf(MaskGenerator),
}

/** Names in the lists of a `CUSTOM` policy that stand for nothing, most likely misspelt: they permit nothing. */
export function unknownNames(
  config: AlgorithmConfig,
): readonly { readonly list: PolicyList; readonly name: string }[] {
  if (config['kmip.policy_id'] !== 'CUSTOM') return []
  return policyLists.flatMap((list) => {
    const known = names[list]
    if (known === undefined) return []
    const plain = new Set([...known, ...recommendedNames[list]].map(plainName))
    return config[`kmip.allowlists.${list}`]
      .filter((name) => name !== '*' && !plain.has(plainName(name)))
      .map((name) => ({ list, name }))
  })
}

/** The first name that no key has as its algorithm; undefined: each is one. */
export function unknownKeyAlgorithm(wanted: readonly string[]): string | undefined {
  const ofKmip = keysOf(CryptographicAlgorithm) as readonly AlgorithmName[]
  const stored = ofKmip.filter((algorithm) => toStoredKeyKind({ algorithm }).algorithm === algorithm)
  const known = new Set<string>([...keysOf(keyTypes), ...stored])
  return wanted.find((name) => !known.has(name))
}
