import type { ValueName } from '@warder/kmip/tables'
import type { BackendKey } from '../../../backend/index.ts'

export type AlgorithmName = ValueName<'CryptographicAlgorithm'>

/** A decrypted key with its KMIP algorithm name. */
export interface KeyInUse {
  readonly algorithm: AlgorithmName
  readonly key: BackendKey
}
