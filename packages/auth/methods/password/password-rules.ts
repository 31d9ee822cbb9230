import { failure } from '@warder/base'
import { commonPasswords } from './common-passwords.ts'

const shortest = 8
/** Maximum length before hashing, far above any password that a user types or a password manager generates. */
export const maxPasswordLength = 1024

/** Normalizes a password before it is hashed: NFC, so that every keyboard gives the same text (SP 800-63B §3.1.1.2). */
export function normalPassword(password: string): string {
  return password.normalize('NFC')
}

/** Length in characters (code points). */
function countCharacters(text: string): number {
  return [...text].length
}

/** Rules for passwords that administrators set. With both rules off, only the empty password is refused. */
export interface PasswordPolicy {
  /** Characters. */
  readonly minimumLength: number
  /** Refuse the username and the most common passwords. */
  readonly refuseCommon: boolean
}

/** The settings of the service that define a policy. */
export interface PasswordPolicySettings {
  readonly 'admin_password_policy.minimum_length': number
  readonly 'admin_password_policy.refuse_common': boolean
}

export function readPasswordPolicy(config: PasswordPolicySettings): PasswordPolicy {
  return {
    minimumLength: config['admin_password_policy.minimum_length'],
    refuseCommon: config['admin_password_policy.refuse_common'],
  }
}

/** @returns the reason why the policy refuses this password, as the end of a sentence; undefined when it is accepted */
export function initialPasswordProblem(
  password: string,
  username: string,
  policy: PasswordPolicy,
): string | undefined {
  const normal = normalPassword(password)
  const length = countCharacters(normal)
  if (length === 0) return 'must not be empty'
  if (length > maxPasswordLength) return `must have at most ${maxPasswordLength} characters`
  if (length < policy.minimumLength) return `must have at least ${policy.minimumLength} characters`
  return policy.refuseCommon ? commonProblem(normal, username) : undefined
}

function commonProblem(normal: string, username: string): string | undefined {
  const folded = normal.toLowerCase()
  if (folded === username.toLowerCase()) return 'must not be the username'
  return commonPasswords.has(folded) ? 'is among the most common passwords; choose another' : undefined
}

/** Validates a password that a user chose, without composition rules (SP 800-63B). @throws failure('bad_request') */
export function checkChosenPassword(password: string, username: string): void {
  const length = countCharacters(normalPassword(password))
  if (length < shortest || length > maxPasswordLength) {
    throw failure('bad_request', `new_password: must have ${shortest} to ${maxPasswordLength} characters.`)
  }
  const problem = commonProblem(normalPassword(password), username)
  if (problem !== undefined) throw failure('bad_request', `new_password: ${problem}.`)
}
