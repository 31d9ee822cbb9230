import type { ResultReason } from '@warder/kmip/tables'
import type { Withheld } from '../../../keys/index.ts'

/** What it is called in KMIP that an object is withheld from every use; the standard knows archives alone (docs/adr/0064). */
export const withheldReasons: Readonly<Record<Withheld, readonly [ResultReason, message: string]>> = {
  archived: ['ObjectArchived', 'The object is archived: recover it first.'],
  disabled: ['WrongKeyLifecycleState', 'The object is disabled.'],
  'awaits destruction': ['WrongKeyLifecycleState', 'The object waits for its destruction.'],
}
