import { algorithms, keyTypes, type PolicyList, plainName, recommendedNames } from '@warder/crypto'
import { policyLists } from '@warder/crypto/settings'
import { type AlgorithmName, toStoredKeyKind } from '@warder/keys'
import { Enumeration } from '@warder/kmip-codec'
import type { AlgorithmConfig } from './algorithm-settings.ts'

const listKeys = (table: object): readonly string[] => Object.keys(table)
const { CryptographicAlgorithm, DigitalSignatureAlgorithm, HashingAlgorithm, MaskGenerator } = Enumeration

/** Names that a policy can contain besides the recommended ones. Sizes are numbers, which are checked as such. */
const names: Partial<Readonly<Record<PolicyList, readonly string[]>>> = {
  algorithms: [...listKeys(CryptographicAlgorithm), 'EC', 'HMAC'],
  hashes: listKeys(HashingAlgorithm),
  signature_algorithms: [
    ...listKeys(DigitalSignatureAlgorithm),
    ...listKeys(CryptographicAlgorithm),
    ...listKeys(algorithms),
  ],
  curves: listKeys(Enumeration.RecommendedCurve),
  block_cipher_modes: listKeys(Enumeration.BlockCipherMode),
  padding_methods: [...listKeys(Enumeration.PaddingMethod), 'PKCS1v15'],
  mgf_hashes: listKeys(HashingAlgorithm),
  mask_generators: listKeys(MaskGenerator),
}

/** Unknown names in the lists of a `CUSTOM` policy, probably misspelt: they permit nothing. */
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
  const ofKmip = listKeys(CryptographicAlgorithm) as readonly AlgorithmName[]
  const stored = ofKmip.filter((algorithm) => toStoredKeyKind({ algorithm }).algorithm === algorithm)
  const known = new Set<string>([...listKeys(keyTypes), ...stored])
  return wanted.find((name) => !known.has(name))
}
