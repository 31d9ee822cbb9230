import { randomBytes } from 'node:crypto'
import { UsageError, type ValuesOf } from '../commands/options.ts'
import { readSecretFile } from '../files.ts'
import type { AdminApi } from './api.ts'

/** A new password of a user. A random password is shown once, because no user knows it yet. */
interface NewPassword {
  readonly text: string
  readonly generated: boolean
}

/** Options of verbs that set the password of a user. */
export const passwordOptions = {
  'new-password-file': {
    type: 'text',
    value: 'F',
    help: 'file with the new password; without it the password is random and shown once',
  },
  'keep-password': { type: 'flag', help: 'does not require another password at the next login' },
} as const

/** Reads `--new-password-file FILE`; without it the password has 144 random bits. */
export function createPasswordSource({
  'new-password-file': file,
}: ValuesOf<typeof passwordOptions>): () => NewPassword {
  if (file === '') throw new UsageError('--new-password-file needs a value')
  return () =>
    file === undefined
      ? { text: randomBytes(18).toString('base64url'), generated: true }
      : { text: readSecretFile(file), generated: false }
}

/** Lines about a password that was set: the password if it is random, and what the next login requires. */
export async function formatPassword(
  api: AdminApi,
  realm: string,
  password: NewPassword,
  change: boolean,
): Promise<readonly string[]> {
  const first = password.generated ? [`password: ${password.text}    (shown once)`] : []
  return change ? [...first, await describeNextLogin(api, realm)] : first
}

/** Describes the next login with a password that must be changed. */
async function describeNextLogin(api: AdminApi, realm: string): Promise<string> {
  const found = (await api.find(`/admins/realms/${encodeURIComponent(realm)}`).catch(() => undefined)) as
    | { readonly auth_params?: { readonly username_password_params?: PasswordParams | null } }
    | undefined
  if (found === undefined)
    return 'the next login requires a new password, unless the realm accepts expired ones'
  const params = found.auth_params?.username_password_params
  if (params === undefined || params === null)
    return `realm ${realm} does not accept passwords now (username_password_params is not set)`
  return params.allow_expired_passwords === true
    ? `realm ${realm} lets the user log in without a new password (allow_expired_passwords)`
    : 'the next login requires a new password (warder login, or POST /password)'
}

interface PasswordParams {
  readonly allow_expired_passwords?: boolean
}
