import { suggest } from '@warder/base'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'

/** A member of a value that its schema does not know. */
export interface UnknownMember {
  /** Names and indices from the root to the member. */
  readonly path: readonly (string | number)[]
  /** The members that the schema declares at the same place. */
  readonly known: readonly string[]
}

/** Undeclared members that are accepted, at every depth; 'any': all of them. */
export type ForeignMembers = 'any' | readonly string[]

type Path = readonly (string | number)[]
type Search = (value: unknown, path: Path) => UnknownMember | undefined

/** The keywords of a JSON Schema that contain schemas of members. */
interface Structure {
  readonly anyOf?: readonly Structure[]
  readonly oneOf?: readonly Structure[]
  readonly allOf?: readonly Structure[]
  readonly items?: Structure
  readonly properties?: Readonly<Record<string, Structure>>
  readonly patternProperties?: Readonly<Record<string, Structure>>
  readonly additionalProperties?: boolean
}

/**
 * Finds the first member of a value, at every depth, that its schema does not declare: it would be silently ignored.
 * A map (`Type.Record`), an object with `additionalProperties: true` and a member of any type hold what they hold. In
 * a union the alternatives that accept the value decide.
 * @returns undefined where nothing can be unknown
 */
export function compileUnknownMemberSearch(
  schema: TSchema,
  foreign: ForeignMembers = [],
): Search | undefined {
  return foreign === 'any' ? undefined : createSearch(schema as Structure, new Set(foreign))
}

function createSearch(schema: Structure, foreign: ReadonlySet<string>): Search | undefined {
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives !== undefined) return createUnionSearch(alternatives, foreign)
  if (schema.allOf !== undefined) return createSearch(merge(schema.allOf), foreign)
  if (schema.items !== undefined) return createItemsSearch(schema.items, foreign)
  return createObjectSearch(schema, foreign)
}

function createUnionSearch(
  alternatives: readonly Structure[],
  foreign: ReadonlySet<string>,
): Search | undefined {
  const searches = alternatives.map((alternative) => createSearch(alternative, foreign))
  if (searches.every((search) => search === undefined)) return undefined
  const checks = alternatives.map((alternative) => Compile(alternative as TSchema))
  return (value, path) => {
    let first: UnknownMember | undefined
    for (const [index, check] of checks.entries()) {
      if (!check.Check(value)) continue
      const found = searches[index]?.(value, path)
      if (found === undefined) return undefined
      first ??= found
    }
    return first
  }
}

/** @throws Error for an intersection with a part that is not an object, whose members would be unknown */
function merge(parts: readonly Structure[]): Structure {
  const properties: Record<string, Structure> = {}
  for (const part of parts) {
    const object = part.allOf === undefined ? part : merge(part.allOf)
    if (object.properties === undefined) throw new Error('an intersection has a part that is not an object')
    Object.assign(properties, object.properties)
  }
  return { properties }
}

function createItemsSearch(items: Structure, foreign: ReadonlySet<string>): Search | undefined {
  const search = createSearch(items, foreign)
  if (search === undefined) return undefined
  return (value, path) => {
    if (!Array.isArray(value)) return undefined
    for (const [index, item] of value.entries()) {
      const found = search(item, [...path, index])
      if (found !== undefined) return found
    }
    return undefined
  }
}

function createObjectSearch(
  { properties, patternProperties, additionalProperties }: Structure,
  foreign: ReadonlySet<string>,
): Search | undefined {
  const isOpen = properties === undefined || additionalProperties === true
  const searches = new Map(
    Object.entries(properties ?? {}).map(([name, member]) => [name, createSearch(member, foreign)]),
  )
  const [inMap] = Object.values(patternProperties ?? {}).map((member) => createSearch(member, foreign))
  if (isOpen && inMap === undefined && searches.values().every((search) => search === undefined))
    return undefined
  return (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    const members = value as Readonly<Record<string, unknown>>
    for (const name in members) {
      const search = searches.get(name) ?? inMap
      if (search !== undefined) {
        const found = search(members[name], [...path, name])
        if (found !== undefined) return found
      } else if (!isOpen && !searches.has(name) && !foreign.has(name)) {
        return { path: [...path, name], known: [...searches.keys()] }
      }
    }
    return undefined
  }
}

/** Names of an object that a sentence lists. */
const maxListedNames = 24

/** Explains why an unknown member is refused, and names the known members. `noun`: what a member is called. */
export function describeUnknownMember({ path, known }: UnknownMember, noun: string): string {
  const name = String(path.at(-1))
  const hint = suggest(name, known)
  if (hint !== '') return `is not a known ${noun}${hint}`
  if (known.length === 0) return `is not a known ${noun}; no ${noun}s are allowed here`
  if (known.length > maxListedNames) return `is not a known ${noun}`
  return `is not a known ${noun}; known ${noun}s are ${known.join(', ')}`
}
