import type { ResultReason } from '@warder/kmip/tables'
import type { Withheld } from '../../../keys/index.ts'

/**
 * KMIP reasons for objects withheld from every use; the standard has only one for archived objects
 * (docs/adr/key-life-cycle-and-versions.md).
 */
export const withheldReasons: Readonly<Record<Withheld, readonly [ResultReason, message: string]>> = {
  archived: ['ObjectArchived', 'The object is archived: recover it first.'],
  disabled: ['WrongKeyLifecycleState', 'The object is disabled.'],
  'awaits destruction': ['WrongKeyLifecycleState', 'The object waits for its destruction.'],
}
