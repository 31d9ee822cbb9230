import type { BackendKey } from '@warder/keys'
import type { ValueName } from '@warder/kmip-codec'

export type AlgorithmName = ValueName<'CryptographicAlgorithm'>

/** A decrypted key with its KMIP algorithm name. */
export interface KeyInUse {
  readonly algorithm: AlgorithmName
  readonly key: BackendKey
}
