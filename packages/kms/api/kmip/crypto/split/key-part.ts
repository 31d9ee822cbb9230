import type { ValueName } from '@warder/kmip/tables'

export type SplitKeyMethod = ValueName<'SplitKeyMethod'>

/** One part of a split key: KeyPartIdentifier (from 1, the point where the polynomial was looked at) and its material. */
export interface KeyPart {
  readonly identifier: number
  readonly bytes: Buffer
}
