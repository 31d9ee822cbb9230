import { failure } from '@warder/base'
import { aliasPrefix } from '../objects/object-id.ts'

/** A name that a user gave to a key: unique per owner (docs/adr/identifiers-and-aliases.md). */
export interface AliasName {
  readonly owner: string
  /** Without the prefix `alias/`. */
  readonly name: string
}

const maxNameLength = 128
/** ASCII, so that two names that look alike are alike; no `@`, which begins the owner. */
const plainName = /^[A-Za-z0-9][A-Za-z0-9._-]*(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/
const maxOwnerLength = 512

/**
 * Parses `alias/invoices`, an alias of the caller, or `alias/invoices@alice`, an alias of alice; a user name may
 * contain `@`. undefined for invalid aliases.
 */
export function parseAlias(text: string, caller: string): AliasName | undefined {
  if (!text.startsWith(aliasPrefix)) return undefined
  const rest = text.slice(aliasPrefix.length)
  const at = rest.indexOf('@')
  const name = at === -1 ? rest : rest.slice(0, at)
  const owner = at === -1 ? caller : rest.slice(at + 1)
  const isOwner = owner.length > 0 && owner.length <= maxOwnerLength && owner.isWellFormed()
  if (name.length > maxNameLength || !plainName.test(name) || !isOwner || /\p{Cc}/u.test(owner))
    return undefined
  return { owner, name }
}

/**
 * An alias of the caller's own as a request about aliases names it: `alias/invoices`, or `invoices`.
 * @throws failure('bad_request')
 */
export function readOwnAlias(text: string, caller: string): AliasName {
  const whole = text.startsWith(aliasPrefix) ? text : `${aliasPrefix}${text}`
  const alias = whole.includes('@') ? undefined : parseAlias(whole, caller)
  if (alias === undefined)
    throw failure(
      'bad_request',
      `alias: must be \`${aliasPrefix}\` and a name of at most ${maxNameLength} letters, digits, \`.\`, \`_\` and \`-\`, in segments separated by \`/\`.`,
    )
  return alias
}

/** The alias as its owner writes it. */
export function ownForm({ name }: AliasName): string {
  return `${aliasPrefix}${name}`
}

/** Formats the alias as users other than its owner write it. */
export function fullForm({ owner, name }: AliasName): string {
  return `${aliasPrefix}${name}@${owner}`
}
