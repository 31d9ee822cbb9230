import { failure } from '@warder/foundation/errors'
import { commonPasswords } from './common-passwords.ts'

const shortest = 8
/** A bound for the hash, far above any password that somebody types or a manager makes. */
export const longestPassword = 1024

/** What is hashed: NFC, so that one password is one text whatever keyboard typed it (SP 800-63B §3.1.1.2). */
export function normalPassword(password: string): string {
  return password.normalize('NFC')
}

/** Length in characters (code points). */
function lengthOf(text: string): number {
  return [...text].length
}

/** What an administrator may set: anything but nothing. @throws failure('bad_request') */
export function checkInitialPassword(password: string): void {
  if (password.length === 0) throw failure('bad_request', 'password_input.plaintext: must not be empty.')
  if (lengthOf(password) > longestPassword) {
    throw failure('bad_request', `password_input.plaintext: must have at most ${longestPassword} characters.`)
  }
}

/** What people may choose for themselves; no rules of composition (SP 800-63B). @throws failure('bad_request') */
export function checkChosenPassword(password: string, username: string): void {
  const length = lengthOf(normalPassword(password))
  if (length < shortest || length > longestPassword) {
    throw failure('bad_request', `new_password: must have ${shortest} to ${longestPassword} characters.`)
  }
  const folded = normalPassword(password).toLowerCase()
  if (folded === username.toLowerCase()) {
    throw failure('bad_request', 'new_password: must not be the username.')
  }
  if (commonPasswords.has(folded)) {
    throw failure('bad_request', 'new_password: is among the most common passwords; choose another.')
  }
}
