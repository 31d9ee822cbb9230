import type { TSchema } from 'typebox'

/** The keywords of a JSON Schema that contain schemas of members. */
interface Structure {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Structure[]
  readonly oneOf?: readonly Structure[]
  readonly allOf?: readonly Structure[]
  readonly items?: Structure
  readonly properties?: Readonly<Record<string, Structure>>
  readonly patternProperties?: Readonly<Record<string, Structure>>
  readonly required?: readonly string[]
}

/**
 * Removes from a parsed JSON value the null members that are optional in the schema: many serialisers write an unset
 * member so. A null is kept if the schema of its member accepts it, since it has its own meaning there; and in required
 * members, which the check then refuses.
 */
export function removeNullMembers(schema: TSchema, value: unknown): void {
  removeFrom(schema as Structure, value)
}

function removeFrom(schema: Structure, value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const part of listParts(schema)) removeFrom(part, value)
  if (Array.isArray(value)) {
    if (schema.items !== undefined) for (const item of value) removeFrom(schema.items, item)
    return
  }
  const members = value as Record<string, unknown>
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    if (!Object.hasOwn(members, name)) continue
    if (members[name] !== null) removeFrom(member, members[name])
    else if (nullIsAbsent(schema, name, member)) delete members[name]
  }
  for (const member of Object.values(schema.patternProperties ?? {}))
    for (const one of Object.values(members)) removeFrom(member, one)
}

/** The schema for publication, in which optional members may be null. */
export function withNullMembers<T>(schema: T): T {
  return publish(schema) as T
}

function publish(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(publish)
  if (typeof node !== 'object' || node === null) return node
  const copy: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(node)) copy[keyword] = publish(value)
  const schema = node as Structure
  if (typeof schema.properties !== 'object') return copy
  const members = copy.properties as Record<string, unknown>
  for (const [name, member] of Object.entries(schema.properties)) {
    if (nullIsAbsent(schema, name, member)) members[name] = orNull(members[name] as object)
  }
  return copy
}

function orNull(schema: { readonly description?: string }): object {
  const { description, ...rest } = schema
  return { ...(description !== undefined && { description }), anyOf: [rest, { type: 'null' }] }
}

function nullIsAbsent({ required }: Structure, name: string, member: Structure): boolean {
  return required?.includes(name) !== true && !acceptsNull(member)
}

function acceptsNull(schema: Structure): boolean {
  if (schema.anyOf !== undefined || schema.oneOf !== undefined)
    return [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].some(acceptsNull)
  if (schema.allOf !== undefined) return schema.allOf.every(acceptsNull)
  if (schema.const !== undefined) return schema.const === null
  if (schema.enum !== undefined) return schema.enum.includes(null)
  return schema.type === undefined || schema.type === 'null' || schema.type.includes('null')
}

function listParts({ allOf, anyOf, oneOf }: Structure): readonly Structure[] {
  return [...(allOf ?? []), ...(anyOf ?? []), ...(oneOf ?? [])]
}
