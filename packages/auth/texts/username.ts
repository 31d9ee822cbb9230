import { createHash } from 'node:crypto'
import { failure } from '@warder/foundation/errors'
import { isName } from '@warder/foundation/names'
import Type from 'typebox'

/** As the schema can say it; the rest is `checkUsername`. */
export const Username = Type.String({ minLength: 1, maxLength: 512 })

const control = /\p{Cc}/u
const outerBlank = /^\s|\s$/u
const maxLength = 256

/**
 * Whether a user may have this name: what new ones have to follow is `isNewUsername`. 1 to 256 characters (code points), Unicode NFC, no control characters, no blank
 * at either end. Names are compared exactly; nothing is folded or repaired, so that one name is one identity.
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

/** Whether somebody new may have this name: a name by `isName`, too, so that nobody takes it for another one. */
export function isNewUsername(name: string): boolean {
  return isUsername(name) && isName(name)
}

const rule =
  'username: must have 1 to 256 characters in Unicode NFC, no control or format characters and no blank at either ' +
  'end, and be neither . nor ..'

/** For users that may exist. @throws failure('bad_request') */
export function checkUsername(name: string): void {
  if (!isUsername(name)) throw failure('bad_request', rule)
}

/** For a name that an identity provider proves. @throws failure('bad_request') */
export function checkNewUsername(name: string): void {
  if (!isNewUsername(name)) throw failure('bad_request', rule)
}

/**
 * Checks the name of a new user with a password: HTTP Basic ends the name at the first colon (RFC 7617 §2), so that nobody
 * could log in under a name with one. Names that others prove, such as subjects of issuers, may have it.
 * @throws failure('bad_request')
 */
export function checkNewCredentialName(name: string): void {
  checkNewUsername(name)
  if (name.includes(':')) throw failure('bad_request', 'username: must not have a colon.')
}

/**
 * Key by which throttles count: percent-encoding undone, compatibility form, case folded, blanks trimmed, so that variants
 * of a name share one counter (a look-alike must not open a second one). Hashed, because it may be any text that
 * somebody typed.
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

/** Some clients encode what they put into a Basic header. It does not log them in, and opens no counter either. */
function decodeOnce(name: string): string {
  if (!name.includes('%')) return name
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
