import { createHash } from 'node:crypto'
import { failure, isName } from '@warder/base'
import Type from 'typebox'

/**
 * Text of a request that is stored in a column or used in a query. It must not contain control characters: PostgreSQL
 * does not support NUL, and no valid name contains the others.
 */
export function PlainText(size: {
  readonly minLength?: number
  readonly maxLength: number
  readonly description?: string
}) {
  return Type.String({ ...size, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' })
}

/** Key sets are fetched over https only; a user name or password in a URL would end up in logs. */
export function requireHttps(member: string, text: string): void {
  const url = URL.parse(text)
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    throw failure('bad_request', `${member}: must be an https URL without user name or password.`)
  }
}

/** The part that the schema can express; `checkUsername` checks the rest. */
export const Username = Type.String({ minLength: 1, maxLength: 512 })

const control = /\p{Cc}/u
const outerBlank = /^\s|\s$/u
const maxLength = 256

/**
 * Whether a user may have this name; `isNewUsername` has further rules for new users. 1 to 256 characters (code
 * points), Unicode NFC, no control characters, no blank at either end. Names are compared exactly and never folded or
 * repaired, so that one name is one identity.
 */
export function isUsername(name: string): boolean {
  const characters = [...name].length
  return (
    characters >= 1 &&
    characters <= maxLength &&
    name.isWellFormed() &&
    !control.test(name) &&
    !outerBlank.test(name) &&
    name.normalize('NFC') === name
  )
}

/** Whether a new user may have this name: it must not look like another one. */
export function isNewUsername(name: string): boolean {
  return isUsername(name) && isName(name)
}

const rule =
  'username: must have 1 to 256 characters in Unicode NFC, no control or format characters and no blank at either ' +
  'end, and must not be . or ..'

/** Validates the name of a user who may exist. @throws failure('bad_request') */
export function checkUsername(name: string): void {
  if (!isUsername(name)) throw failure('bad_request', rule)
}

/** Validates a name that an identity provider proves. @throws failure('bad_request') */
export function checkNewUsername(name: string): void {
  if (!isNewUsername(name)) throw failure('bad_request', rule)
}

/**
 * Validates the name of a new user with a password. HTTP Basic ends the name at the first colon (RFC 7617 §2), so a
 * name with a colon could not log in. Names that are proved in other ways, such as subjects of issuers, may contain
 * one.
 * @throws failure('bad_request')
 */
export function checkNewCredentialName(name: string): void {
  checkNewUsername(name)
  if (name.includes(':')) throw failure('bad_request', 'username: must not contain a colon.')
}

/**
 * Returns the key by which throttles count: percent-decoded, compatibility form, case-folded and trimmed, so that
 * variants of a name share one counter (a look-alike must not get a second one). Hashed, because it may be any text
 * that a user typed.
 */
export function foldName(name: string): string {
  const folded = decodeOnce(name)
    .normalize('NFKC')
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKC')
    .trim()
  return createHash('sha256').update(folded).digest('base64url')
}

/** Some clients percent-encode the Basic header. Such a name cannot log in, and must not get another counter. */
function decodeOnce(name: string): string {
  if (!name.includes('%')) return name
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
