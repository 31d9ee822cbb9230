import type { HttpsClient } from '../client/https-client.ts'
import { createRefused, send } from './exchange.ts'
import type { StoredLogin } from './stored-login.ts'

/**
 * Ends a login at the authentication service; it is not an error if it has already ended.
 * @returns false for a token of another issuer
 * @throws StartupError when the service cannot be reached, or refuses
 */
export async function endLogin(
  auth: HttpsClient,
  { kind, sessionId, token }: Pick<StoredLogin, 'kind' | 'sessionId' | 'token'>,
): Promise<boolean> {
  if (kind === 'token') return false
  const answer =
    kind === 'app'
      ? await send(auth, '/auth/token/revoke-self', { method: 'POST', headers: { 'x-secret-token': token } })
      : await send(auth, '/sessions', {
          method: 'DELETE',
          json: { session_ids: [sessionId] },
          headers: { cookie: `_ea_=${token}` },
        })
  const hadEnded = answer.status === 401 || (kind === 'app' && answer.status === 403)
  if (answer.status !== 204 && !hadEnded) throw createRefused(answer)
  return true
}
