import { failure } from '@warder/base'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import type { TLocalizedValidationError } from 'typebox/error'
import { removeNullMembers } from '../operations/null-members.ts'
import { compileUnknownMemberSearch, describeUnknownMember, type ForeignMembers } from './unknown-members.ts'

/** Checks a value against one compiled schema; throws failure('bad_request') that names the member and what it must be. */
export type Check = (value: unknown) => void

/**
 * Compiles a schema once. Members that are null where they are optional are removed from the value; members that the
 * schema does not declare are refused, but for `foreign` ones.
 * `subject` opens the sentence: `Invalid request body: kid: must be a string.` `noun` is what a member is called.
 * No value is ever repeated: it may be a secret.
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
    // Searched only where the check fails.
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
 * Finds what is wrong inside a value that may also be null: not that it is not null. undefined: the union is another one,
 * or the value has the wrong type altogether.
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
