import type { AuthReply } from '@warder/client/browser'
import { auth } from '../../../api.ts'
import type { Me } from '../../../room.ts'

/** In the order in which they are shown. */
export const steps = ['password', 'factor', 'user', 'trust', 'keys'] as const
export type StepName = (typeof steps)[number]

/** Which steps are done. Of the others this service does not know it. */
export type Progress = Readonly<Partial<Record<StepName, boolean>>>

type Account = AuthReply<'account.get'>

/** Whether there is a user besides the administrator, or a realm whose users are registered elsewhere. */
async function hasUsers(own: Account): Promise<boolean> {
  const credentials = await auth.client.call('credentials.list_all', { query: { limit: '2' } })
  if (credentials.some(({ realm, username }) => realm !== own.realm_id || username !== own.username))
    return true
  const realms = await auth.client.call('realms.list', { query: { limit: '100' } })
  return realms.some(({ auth_params: { saml_params, jwt_params, client_certificate_params } }) =>
    [saml_params, jwt_params, client_certificate_params].some((method) => method != null),
  )
}

/** @throws ClientError if the user is no super administrator */
export async function readProgress(): Promise<Progress> {
  const account = await auth.client.call('account.get')
  return {
    password: !account.password_initial,
    factor: account.totp || account.passkeys > 0 || !['up', 'f2'].includes(account.auth_scheme),
    user: await hasUsers(account),
  }
}

/** Sessions whose user has put the steps off. The page stores nothing: the next login shows them again. */
const dismissed = new Set<string>()

export function dismiss(session: string): void {
  dismissed.add(session)
}

/** Whether the steps are what the user should see first. */
export async function isStart({ session }: Me): Promise<boolean> {
  if (session === undefined || dismissed.has(session)) return false
  return Object.values(await readProgress()).includes(false)
}
