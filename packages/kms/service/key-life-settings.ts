import { keyTypes } from '@warder/crypto/settings'
import type { RotationPolicy } from '@warder/keys'
import {
  createRotationPolicy,
  type DestructionSettings,
  daysProblem,
  maxDays,
  readDaysBy,
  readRotationRule,
} from '@warder/keys/settings'
import { integer, list } from '@warder/runtime/settings'

const algorithms = Object.keys(keyTypes)

/** Rotation of keys without a schedule of their own, and how long before it is announced. */
export const rotationConfigSettings = {
  'rotation.policy': list({
    default: [],
    tables: true,
    separator: /[;\n]/,
    docs: 'Rotation rules for keys without their own rotate_every or rotate_after_messages: tables `[[rotation.policy]]` with `tag`, `algorithm` (one of them, or both) and `every = "90d"`, `after_messages = 2147483648` (AES-GCM messages; one of them, or both). If several rules match, the shortest interval applies. Without a rule for `after_messages`, an AES key stops encrypting at 2^32 messages, with a warning at 90 %. As a string: `tag=payments, every=90d`; in the variable and the flag, separate rules by semicolons or line breaks.',
    check(rules) {
      for (const [index, text] of rules.entries()) {
        const read = readRotationRule(text, algorithms)
        if (typeof read === 'string') return `rule ${index + 1}: ${read}`
      }
      return undefined
    },
  }),
  'rotation.notice_days': integer({
    default: 7,
    min: 0,
    max: 90,
    docs: 'Days before a rotation by time at which it is announced, once: in the log, in the metric `key_rotations_total`, and to `approvals.webhook_url`. More frequent rotations are not announced; rotations by use are announced at 90 % of their messages. 0: no announcements. The warning that a key will stop encrypting is always sent.',
  }),
} as const

/** Those about rotations. */
export function rotationPolicy(config: {
  readonly 'rotation.policy': readonly string[]
  readonly 'rotation.notice_days': number
}): RotationPolicy {
  const read = config['rotation.policy'].map((text) => readRotationRule(text, algorithms))
  const rules = read.filter((rule) => typeof rule !== 'string')
  return createRotationPolicy(rules, config['rotation.notice_days'] * 86_400_000)
}

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
