import { attributeRule, objectTypes } from '@warder/keys'
import type { SqlValue } from '@warder/storage'

/** A part of a WHERE clause about a row `o` of `managed_object`, true of every object that meets the term. */
export interface Condition {
  readonly text: string
  readonly params: readonly SqlValue[]
  /** true: and of no other object; false: each row that is found must be checked. */
  readonly exact: boolean
  /** true: an index finds the few rows that meet it. */
  readonly selective: boolean
}

/** True of every object. */
export const always: Condition = { text: '1 = 1', params: [], exact: true, selective: false }

/** An exact condition without an index, unless `more` says otherwise. */
export function condition(
  text: string,
  params: readonly SqlValue[],
  more: Partial<Condition> = {},
): Condition {
  return { text, params, exact: true, selective: false, ...more }
}

/** Attributes that not every type has: the column may be there all the same. */
export function narrow(tag: number, found: Condition | undefined): Condition | undefined {
  const types = typesWith(tag)
  if (found === undefined || types === undefined) return found
  return { ...found, text: `(${found.text} AND o.object_type IN (${types}))` }
}

/** Condition that also matches objects without the attribute: any value of the column, of types that cannot have it. */
export function widen(tag: number, found: Condition): Condition {
  const types = typesWith(tag)
  return types === undefined
    ? found
    : { ...found, text: `(${found.text} OR o.object_type NOT IN (${types}))` }
}

/** As a list for SQL; undefined = every type can have it. */
function typesWith(tag: number): string | undefined {
  const applies = attributeRule(tag)?.appliesTo
  if (applies === undefined || applies.size >= objectTypes.length) return undefined
  const types = objectTypes.filter((type) => applies.has(type)).map((type) => `'${type}'`)
  return types.join(', ')
}

/** Objects with this row in `object_attribute`. */
export function rowWith(name: string, value: string): Condition {
  return condition(
    'o.id IN (SELECT object_id FROM object_attribute WHERE name = ? AND value = ?)',
    [name, value],
    {
      selective: true,
    },
  )
}

/** Objects without any row of this name in `object_attribute`. */
export function withoutRow(name: string): Condition {
  return condition('NOT EXISTS (SELECT 1 FROM object_attribute a WHERE a.object_id = o.id AND a.name = ?)', [
    name,
  ])
}
