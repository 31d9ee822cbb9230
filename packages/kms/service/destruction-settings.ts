import { type DestructionSettings, daysProblem, maxDays, readDaysBy } from '@warder/keys/settings'
import { integer, list } from '@warder/runtime/settings'

/** How long destructions wait. */
export const destructionConfigSettings = {
  pending_destruction_days: integer({
    default: 0,
    min: 0,
    max: maxDays,
    docs: 'Days between the request to destroy a key and its destruction, 7 to 30. Meanwhile the key cannot be used, but can be restored. 0: it is destroyed at once.',
    check: daysProblem,
  }),
  pending_destruction_days_by: list({
    default: [],
    docs: 'Longer delays for keys with a tag or of an algorithm: `tag:payments=30`, `alg:RSA=14`. The longest matching one applies, and such a tag cannot be removed.',
    check: (rules) =>
      readDaysBy(rules) === undefined
        ? 'it must contain rules like tag:payments=30 and alg:RSA=14, with 7 to 30 days'
        : undefined,
  }),
} as const

/** Those about destructions. */
export function destructionSettings(config: {
  readonly pending_destruction_days: number
  readonly pending_destruction_days_by: readonly string[]
}): DestructionSettings {
  const rules = readDaysBy(config.pending_destruction_days_by) ?? { byTag: new Map(), byAlgorithm: new Map() }
  return { days: config.pending_destruction_days, ...rules }
}
