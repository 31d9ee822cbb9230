import type { TSchema } from 'typebox'

/** A value of a schema without its null members: members that may be null become optional. */
export type WithoutUnset<T> = T extends readonly (infer Item)[]
  ? readonly WithoutUnset<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: WithoutUnset<Exclude<T[Name], null>> }
    : T

interface SchemaParts {
  readonly type?: string
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly items?: TSchema
  readonly anyOf?: readonly TSchema[]
}

/**
 * Drops null members and those that the schema does not know, at every level, in the order of the schema. A union
 * consists of one schema and null.
 * @param value one that matches the schema
 */
export function withoutUnset(schema: TSchema, value: unknown): unknown {
  const { properties, items, anyOf } = schema as SchemaParts
  const [one, ...others] = (anyOf ?? []).filter((option) => (option as SchemaParts).type !== 'null')
  if (others.length > 0) throw new Error('settings of a realm: a union may only be one of a schema and null')
  if (one !== undefined) return withoutUnset(one, value)
  if (items !== undefined) return (value as readonly unknown[]).map((item) => withoutUnset(items, item))
  if (properties === undefined) return value
  const given = value as Readonly<Record<string, unknown>>
  const set = Object.entries(properties).filter(
    ([name]) => Object.hasOwn(given, name) && (given[name] ?? null) !== null,
  )
  return Object.fromEntries(set.map(([name, member]) => [name, withoutUnset(member, given[name])]))
}
