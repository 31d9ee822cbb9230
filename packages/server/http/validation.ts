import { failure, suggest } from '@warder/base'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import type { TLocalizedValidationError } from 'typebox/error'
import { removeNullMembers } from '../operations/null-members.ts'

/** A member of a value that its schema does not know. */
interface UnknownMember {
  /** Names and indices from the root to the member. */
  readonly path: readonly (string | number)[]
  /** The members that the schema declares at the same place. */
  readonly known: readonly string[]
}

/** Undeclared members that are accepted, at every depth; 'any': all of them. */
type ForeignMembers = 'any' | readonly string[]

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
 * Finds the first member of a value, at every depth, that its schema does not declare: it would be silently
 * ignored. A map (`Type.Record`), an object with `additionalProperties: true` and a member of any type are
 * not checked further. In a union the alternatives that accept the value decide.
 * @returns undefined if nothing can be unknown
 */
function compileUnknownMemberSearch(schema: TSchema, foreign: ForeignMembers = []): Search | undefined {
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

/** Explains why an unknown member is refused, and names the known members. `noun`: the term for a member. */
function describeUnknownMember({ path, known }: UnknownMember, noun: string): string {
  const name = String(path.at(-1))
  const hint = suggest(name, known)
  if (hint !== '') return `is not a known ${noun}${hint}`
  if (known.length === 0) return `is not a known ${noun}; no ${noun}s are allowed here`
  if (known.length > maxListedNames) return `is not a known ${noun}`
  return `is not a known ${noun}; known ${noun}s are ${known.join(', ')}`
}

/**
 * Checks a value against one compiled schema; throws failure('bad_request') that names the member and its
 * valid values.
 */
export type Check = (value: unknown) => void

/**
 * Compiles a schema once. Optional members that are null are removed from the value; members
 * that the schema does not declare are refused, but for `foreign` ones. `subject` opens the sentence:
 * `Invalid request body: kid: must be a string.` `noun` is the term for a member. No value is ever repeated:
 * it may be a secret.
 */
export function compileCheck(
  schema: TSchema,
  subject: string,
  foreign?: ForeignMembers,
  noun = 'member',
): Check {
  const validator = Compile(schema)
  const findUnknown = compileUnknownMemberSearch(schema, foreign)
  return (value) => {
    if (validator.Check(value) && findUnknown?.(value, []) === undefined) return
    // Searched only if the check fails.
    removeNullMembers(schema, value)
    const unknown = findUnknown?.(value, [])
    if (unknown !== undefined) {
      const pointer = unknown.path.map((name) => `/${escapePointer(String(name))}`).join('')
      throw failure(
        'bad_request',
        `${subject}: ${memberPath(pointer, undefined)}: ${describeUnknownMember(unknown, noun)}.`,
      )
    }
    if (validator.Check(value)) return
    throw failure('bad_request', `${subject}: ${describe(validator.Errors(value))}.`)
  }
}

const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

function describe(errors: readonly TLocalizedValidationError[]): string {
  const first = errors[0]
  if (first === undefined) return 'it does not have the expected form'
  const union = errors.find(
    (error) => error.keyword === 'anyOf' && first.instancePath.startsWith(error.instancePath),
  )
  const inside = union && insideOfNullable(errors, union)
  if (inside !== undefined) return describe(inside)
  const at = union ?? first
  const requirement =
    union === undefined
      ? describeRequirement(first)
      : describeAlternatives(
          errors.filter((error) => error.instancePath === union.instancePath && error !== union),
        )
  const missing =
    first.keyword === 'required' && union === undefined ? first.params.requiredProperties[0] : undefined
  const path = memberPath(at.instancePath, missing)
  return path === '' ? `it ${requirement}` : `${path}: ${requirement}`
}

/**
 * Finds the error inside a value that may also be null, instead of "must be null". undefined: the union is
 * another one, or the value has the wrong type altogether.
 */
function insideOfNullable(
  errors: readonly TLocalizedValidationError[],
  union: TLocalizedValidationError,
): readonly TLocalizedValidationError[] | undefined {
  const isNull = (error: TLocalizedValidationError): boolean =>
    error.instancePath === union.instancePath && error.keyword === 'type' && error.params.type === 'null'
  if (!errors.some(isNull)) return undefined
  const inside = errors.filter((error) => error !== union && !isNull(error))
  const isWrongType = inside.some(
    ({ instancePath, keyword }) => instancePath === union.instancePath && keyword === 'type',
  )
  return inside.length === 0 || isWrongType ? undefined : inside
}

/** `/items/0/kid` -> `items[0].kid`, bounded, since names in a map are the caller's. */
function memberPath(pointer: string, last: string | undefined): string {
  const names = pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (last !== undefined) names.push(last)
  let path = ''
  for (const name of names) {
    if (/^\d+$/.test(name)) path += `[${name}]`
    else path += path === '' ? name : `.${name}`
  }
  return path.length > 200 ? `${path.slice(0, 200)}…` : path
}

function describeAlternatives(errors: readonly TLocalizedValidationError[]): string {
  const constants = errors.flatMap((error) =>
    error.keyword === 'const' ? [JSON.stringify(error.params.allowedValue)] : [],
  )
  if (constants.length > 0 && constants.length === errors.length)
    return `must be one of ${constants.join(', ')}`
  const types = errors.flatMap((error) => (error.keyword === 'type' ? [typeName(error.params.type)] : []))
  if (types.length > 0 && types.length === errors.length) return `must be ${[...new Set(types)].join(' or ')}`
  return 'does not have any of the allowed forms'
}

function typeName(type: string | readonly string[]): string {
  if (typeof type !== 'string') return type.map(typeName).join(' or ')
  if (type === 'null') return 'null'
  return type === 'integer' || type === 'object' || type === 'array' ? `an ${type}` : `a ${type}`
}

function describeRequirement(error: TLocalizedValidationError): string {
  switch (error.keyword) {
    case 'type':
      return `must be ${typeName(error.params.type)}`
    case 'required':
      return 'is required'
    case 'const':
      return `must be ${JSON.stringify(error.params.allowedValue)}`
    case 'enum':
      return `must be one of ${error.params.allowedValues.map((value) => JSON.stringify(value)).join(', ')}`
    case 'minimum':
      return `must be at least ${error.params.limit}`
    case 'maximum':
      return `must be at most ${error.params.limit}`
    case 'minLength':
      return error.params.limit === 1
        ? 'must not be empty'
        : `must have at least ${error.params.limit} characters`
    case 'maxLength':
      return `must have at most ${error.params.limit} characters`
    case 'minItems':
      return `must have at least ${error.params.limit} items`
    case 'maxItems':
      return `must have at most ${error.params.limit} items`
    case 'pattern':
      return `must match ${String(error.params.pattern)}`
    case 'additionalProperties':
      return 'has an unknown member'
    case '~refine':
      return error.params.message
    default:
      return error.message
  }
}
