import { StartupError } from '@warder/base'
import type { HttpsClient } from '../https-client.ts'
import { createRefused, send } from './exchange.ts'

/** A token of a machine, with its role and lifetime. */
export interface MachineLogin {
  readonly token: string
  readonly role: string
  /** Seconds from now; undefined: no expiry. */
  readonly seconds: number | undefined
}

/** Exchanges a RoleID and a SecretID for a token. @throws StartupError when they are refused */
export async function logInMachine(
  auth: HttpsClient,
  roleId: string,
  secretId: string | undefined,
): Promise<MachineLogin> {
  const json = { role_id: roleId, ...(secretId !== undefined && { secret_id: secretId }) }
  const answer = await send(auth, '/auth/approle/login', { json })
  if (answer.status === 400)
    throw new StartupError('the login was refused: the RoleID or the SecretID is wrong')
  if (answer.status === 403)
    throw new StartupError(
      'the login was refused: the SecretID has no uses left; issue another one (warder admin new-secret-id)',
    )
  if (answer.status !== 200) throw createRefused(answer)
  const { auth: login } = (answer.json ?? {}) as { auth?: Readonly<Record<string, unknown>> }
  const { client_token: token, lease_duration: lease, metadata } = login ?? {}
  if (typeof token !== 'string') throw new StartupError('the service returned no token and no reason')
  const { role_name: role } = (metadata ?? {}) as { role_name?: unknown }
  return {
    token,
    role: typeof role === 'string' ? role : 'machine',
    seconds: typeof lease === 'number' && lease > 0 ? lease : undefined,
  }
}

/** Fetches the entity of a machine token. @returns undefined when it is invalid or has expired @throws StartupError */
export async function fetchMachine(
  auth: HttpsClient,
  token: string,
): Promise<{ readonly entity: string; readonly seconds: number | undefined } | undefined> {
  const answer = await send(auth, '/auth/token/lookup-self', { headers: { 'x-secret-token': token } })
  if (answer.status === 403 || answer.status === 401) return undefined
  if (answer.status !== 200) throw createRefused(answer)
  const { data } = (answer.json ?? {}) as { data?: { entity_id?: unknown; ttl?: unknown } }
  return {
    entity: String(data?.entity_id),
    seconds: typeof data?.ttl === 'number' && data.ttl > 0 ? data.ttl : undefined,
  }
}
