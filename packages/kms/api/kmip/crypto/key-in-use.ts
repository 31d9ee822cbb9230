import type { KeyObject } from 'node:crypto'
import type { ValueName } from '@warder/kmip/tables'

export type AlgorithmName = ValueName<'CryptographicAlgorithm'>

/** A loaded key with the name of its algorithm in KMIP's table. */
export interface KeyInUse {
  readonly algorithm: AlgorithmName
  readonly key: KeyObject
}
