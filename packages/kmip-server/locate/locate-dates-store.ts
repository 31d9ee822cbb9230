import { attributeRule, indexDate } from '@warder/keys'
import { Tag, tagText, valueName } from '@warder/kmip-codec'
import { always, type Condition, condition, narrow, widen, withoutRow } from './locate-condition-store.ts'
import type { StorageStatuses } from './locate-criteria.ts'
import { dateNotSet } from './locate-match.ts'

/** The column in an expression that prevents the use of its index: most objects share a state. */
const state = "(o.state || '')"

/** The state at `now`: dates change the state (`stateAt`) before the row is updated. */
export function stateCondition(value: number, now: number): Condition {
  const started = `(${state} = 'Active' OR (${state} = 'PreActive' AND o.activation_at <= ?))`
  switch (valueName('State', value)) {
    case 'PreActive':
      return condition(`(${state} = 'PreActive' AND (o.activation_at IS NULL OR o.activation_at > ?))`, [now])
    case 'Active':
      return condition(`(${started} AND (o.deactivation_at IS NULL OR o.deactivation_at > ?))`, [now, now])
    case 'Deactivated':
      return condition(`(${state} = 'Deactivated' OR (${started} AND o.deactivation_at <= ?))`, [now, now])
    case 'Compromised':
      return condition(`${state} = 'Compromised'`, [])
    case 'Destroyed':
      return condition(`${state} = 'Destroyed'`, [])
    case 'DestroyedCompromised':
      return condition(`${state} = 'Destroyed_Compromised'`, [])
    default:
      return condition('1 = 0', [])
  }
}

const dateColumns: Readonly<Record<number, string>> = {
  [Tag.InitialDate]: 'o.created_at',
  [Tag.LastChangeDate]: 'o.changed_at',
  [Tag.ActivationDate]: 'o.activation_at',
  [Tag.DeactivationDate]: 'o.deactivation_at',
  [Tag.CompromiseDate]: 'o.compromised_at',
  [Tag.DestroyDate]: 'o.destroyed_at',
}

/** Dates without a column that have rows. */
function hasDateRows(tag: number): boolean {
  return tag === Tag.ArchiveDate || attributeRule(tag)?.indexed === true
}

/** A date within a range that includes its ends, or a date that is not set if the range has no end. Seconds. */
export function rangeCondition(tag: number, from: number, to: number): Condition | undefined {
  const inside = narrow(tag, dateWithin(tag, from, to))
  if (to !== dateNotSet || inside === undefined) return inside
  const absent = dateAbsent(tag) ?? always
  return condition(`(${inside.text} OR ${absent.text})`, [...inside.params, ...absent.params], {
    exact: false,
  })
}

/** Columns count milliseconds, attributes seconds: a second is a range of the column. */
export function dateWithin(tag: number, from: number, to: number): Condition | undefined {
  const column = dateColumns[tag]
  if (column !== undefined)
    return condition(`(${column} >= ? AND ${column} < ?)`, [from * 1000, (to + 1) * 1000])
  if (!hasDateRows(tag)) return undefined
  return condition(
    'o.id IN (SELECT object_id FROM object_attribute WHERE name = ? AND value >= ? AND value <= ?)',
    [tagText(tag), indexDate(from), indexDate(to)],
    { selective: from === to },
  )
}

/** A date that is not set, which includes objects of types that cannot have it. */
export function dateAbsent(tag: number): Condition | undefined {
  const column = dateColumns[tag]
  if (column !== undefined) return widen(tag, condition(`${column} IS NULL`, []))
  return hasDateRows(tag) ? widen(tag, withoutRow(tagText(tag))) : undefined
}

const archived =
  "EXISTS (SELECT 1 FROM object_attribute a WHERE a.object_id = o.id AND a.name = 'ArchiveDate')"
const destroyed = `${state} IN ('Destroyed', 'Destroyed_Compromised')`

/** The storage statuses that are searched. */
export function storageCondition({
  online,
  archived: inArchive,
  destroyed: gone,
}: StorageStatuses): Condition {
  if (online && inArchive) return gone ? always : condition(`NOT (${destroyed})`, [])
  const places = [
    ...(online ? [`(NOT (${destroyed}) AND NOT ${archived})`] : []),
    ...(inArchive ? [`(NOT (${destroyed}) AND ${archived})`] : []),
    ...(gone ? [destroyed] : []),
  ]
  return condition(places.length === 0 ? '1 = 0' : `(${places.join(' OR ')})`, [])
}
