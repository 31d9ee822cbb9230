import type { HttpsClient } from '../client/https-client.ts'
import { createRefused, send } from './exchange.ts'

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
