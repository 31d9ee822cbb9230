import { StartupError } from '@warder/base'
import type { HttpsClient } from '../https-client.ts'
import { formatTime, printable } from '../terminal/table.ts'
import { createRefused, send } from './exchange.ts'
import { fetchMachine } from './machine.ts'
import { formatLoginCommand, formatUserName, type LoginFacts, type StoredLogin } from './stored-login.ts'

/** Facts from the authentication service about a session. */
export interface SessionFacts {
  readonly username: string
  readonly realm: string
  readonly sessionId: string
  /** Unix seconds. */
  readonly expiresAt: number
  /** In words. */
  readonly how: string
}

const schemes: Readonly<Record<string, string>> = {
  up: 'password',
  jwt: 'token of an issuer',
  cc: 'client certificate',
  sa: 'SAML',
  f2: 'passkey',
}

/**
 * Fetches the session of a token.
 * @returns undefined when there is none, or it has ended
 * @throws StartupError when the service cannot be reached
 */
export async function fetchSession(
  auth: HttpsClient,
  realm: string,
  token: string,
): Promise<SessionFacts | undefined> {
  const headers = { cookie: `_ea_=${token}` }
  const answer = await send(auth, `/whoami?realm=${encodeURIComponent(realm)}`, { headers })
  if (answer.status === 401) return undefined
  if (answer.status !== 200) throw createRefused(answer)
  const { sub, jti, exp, as_as, as_rid } = (answer.json ?? {}) as Readonly<Record<string, unknown>>
  if (typeof sub !== 'string' || typeof jti !== 'string' || typeof exp !== 'number') return undefined
  return {
    username: sub,
    realm: typeof as_rid === 'string' ? as_rid : realm,
    sessionId: jti,
    expiresAt: exp,
    how: schemes[String(as_as)] ?? String(as_as),
  }
}

/** Decodes the claims of a JWT without verification; undefined for anything else. */
export function decodeClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  const [, payload, signature, ...rest] = token.split('.')
  if (payload === undefined || signature === undefined || rest.length > 0) return undefined
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** A stored login has ended: one line with its user and the command to log in again. */
export class LoginEnded extends StartupError {}

function createEndedError(facts: LoginFacts, when: string): LoginEnded {
  return new LoginEnded(
    printable(
      `the login of ${formatUserName(facts)} ${when}: log in again with ${formatLoginCommand(facts)}`,
    ),
  )
}

/** @param now Unix seconds @throws LoginEnded for an expired login */
export function requireUnexpired(facts: LoginFacts, now: number): void {
  const { expiresAt } = facts
  if (expiresAt !== undefined && expiresAt <= now)
    throw createEndedError(facts, `ended at ${formatTime(expiresAt)}`)
}

/**
 * Checks at the authentication service that a login is still valid; tokens of other issuers are not checked.
 * @throws LoginEnded; StartupError when the service cannot be reached
 */
export async function requireLive(
  auth: HttpsClient,
  login: Pick<StoredLogin, 'token'> & { readonly facts: LoginFacts },
): Promise<void> {
  const { facts, token } = login
  const found =
    facts.kind === 'session'
      ? await fetchSession(auth, facts.realm ?? '_', token)
      : facts.kind === 'app'
        ? await fetchMachine(auth, token)
        : facts
  if (found === undefined) throw createEndedError(facts, 'was ended at the authentication service')
}

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
