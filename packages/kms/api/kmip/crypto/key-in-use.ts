import type { ValueName } from '@warder/kmip/tables'
import type { BackendKey } from '../../../backend/index.ts'

export type AlgorithmName = ValueName<'CryptographicAlgorithm'>

/** An opened key with the name of its algorithm in KMIP's table. */
export interface KeyInUse {
  readonly algorithm: AlgorithmName
  readonly key: BackendKey
}
