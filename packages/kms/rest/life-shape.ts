import { failure } from '@warder/base'
import { type ManagedObject, stateAt } from '@warder/keys'
import Type, { type Static } from 'typebox'

const Moment = (description: string) =>
  Type.Optional(Type.String({ description: `${description} RFC 3339, UTC.` }))

/** Members with the life-cycle dates of a key; absent: no such date. */
export const lifeMembers = {
  activation_at: Moment('Active from that time on.'),
  process_start_at: Moment('Decrypts and verifies nothing before that time.'),
  protect_stop_at: Moment('Encrypts and signs nothing from that time on.'),
  deactivation_at: Moment('Deactivated from that time on.'),
  compromised_at: Moment('Reported as compromised.'),
  destroyed_at: Moment('Its material was destroyed.'),
  archived_at: Moment('Archived: cannot be used until it is recovered.'),
  disabled_at: Moment('Disabled: cannot be used until it is enabled.'),
  destruction_at: Moment('Earliest time of its pending destruction; until then it cannot be used.'),
  destruction_by: Type.Optional(Type.String({ description: 'User who requested its destruction.' })),
} as const

export const LifeReply = Type.Object({
  kid: Type.String(),
  state: Type.String({
    description: 'The state of an object does not change when it is disabled or its destruction is pending.',
  }),
  ...lifeMembers,
})

type Dates = Partial<Record<keyof typeof lifeMembers, string>>

/** The dates that an object has. */
export function formatDates(object: ManagedObject): Dates {
  const dates: readonly (readonly [keyof typeof lifeMembers, number | undefined])[] = [
    ['activation_at', object.activationAt],
    ['process_start_at', object.processStartAt],
    ['protect_stop_at', object.protectStopAt],
    ['deactivation_at', object.deactivationAt],
    ['compromised_at', object.compromisedAt],
    ['destroyed_at', object.destroyedAt],
    ['archived_at', object.archivedAt],
    ['disabled_at', object.disabledAt],
    ['destruction_at', object.destructionAt],
  ]
  const shown = dates.flatMap(([name, at]) => (at === undefined ? [] : [[name, formatTime(at)] as const]))
  const by = object.destruction?.by
  return { ...Object.fromEntries(shown), ...(by !== undefined && { destruction_by: by }) }
}

const moment = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

/**
 * A moment of RFC 3339, or a date alone, which is its beginning in UTC.
 * @returns Unix milliseconds
 * @throws failure('bad_request')
 */
export function readMoment(text: string, name: string): number {
  const at = moment.test(text) ? Date.parse(text) : Number.NaN
  // A day that no calendar has, like a 30th of February, is parsed as another day.
  const isDay =
    !Number.isNaN(at) &&
    new Date(`${text.slice(0, 10)}T00:00:00Z`).toISOString().startsWith(text.slice(0, 10))
  if (!isDay)
    throw failure(
      'bad_request',
      `${name}: must be a time like 2027-01-31T12:00:00Z or a date like 2027-01-31.`,
    )
  return at
}

/** A day since 1970 as `2027-01-31`. */
export function formatDay(day: number): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10)
}

/** KMIP allows dates beyond the calendar: they are shown as its last moment. */
function formatTime(at: number): string {
  const last = 8_640_000_000_000_000
  return new Date(Math.min(Math.max(at, -last), last)).toISOString()
}

export function formatLifecycle(object: ManagedObject, now: number): Static<typeof LifeReply> {
  return { kid: object.id, state: stateAt(object, now), ...formatDates(object) }
}
