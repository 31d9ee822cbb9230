import { createTokenCache, JwtRejected, type KeySet, verifyToken } from '@warder/foundation/jwt'
import type { Principal } from '@warder/foundation/operations'
import type { MaybePromise } from '@warder/foundation/promises'
import type { Clock } from '@warder/foundation/runtime'
import { bearerToken, type Extractor, looksLikeJwt, principalNamed, unauthorized } from './extractor.ts'
import { trustSeconds } from './jwt-provider.ts'

export interface AuthVerifierOptions {
  readonly keys: KeySet
  /** Whether a token may have this `iss`; undefined = any. */
  readonly isIssuer: ((issuer: unknown) => MaybePromise<boolean>) | undefined
  /** The realm whose sessions are accepted; undefined = every realm. */
  readonly realm: string | undefined
  /** The realm that tokens without `aud` count as; undefined = they are refused. */
  readonly realmWithoutAudience: string | undefined
  readonly clock: Clock
}

const mostTokens = 10_000

/**
 * Session tokens of the authentication service, with or without a `kid`. The user is `sub`. A session that ends
 * before its token does is not seen here: tokens are short-lived, and nothing asks the authentication service.
 */
export function authVerifier(options: AuthVerifierOptions): Extractor {
  const { keys, isIssuer, realm, realmWithoutAudience, clock } = options
  const cache = createTokenCache<Principal>({ capacity: mostTokens, clock })

  async function verify(token: string): Promise<Principal> {
    try {
      const { claims } = await verifyToken(
        token,
        keys,
        {
          issuer: undefined,
          audience: undefined,
          requiredClaims: ['sub', 'exp'],
          leewaySeconds: 60,
        },
        clock,
      )
      // Only now: who cannot sign does not make this service ask for the issuers.
      if ((await isIssuer?.(claims.iss)) === false) throw new JwtRejected('another issuer')
      const tokenRealm = realmOf(claims)
      const principal = principalNamed(String(claims.sub), 'auth_verifier', tokenRealm)
      cache.put(token, principal, Math.min(Number(claims.exp), clock.now() / 1000 + trustSeconds))
      return principal
    } catch (error) {
      if (error instanceof JwtRejected) throw unauthorized(`session token: ${error.message}`, error)
      throw error
    }
  }

  /** The realm of a token whose signature is right. @throws JwtRejected for one that is not accepted */
  function realmOf({ aud, as_rid: claimed }: Readonly<Record<string, unknown>>): string | undefined {
    const named = typeof claimed === 'string' ? claimed : undefined
    if (aud === undefined) {
      if (realmWithoutAudience === undefined) throw new JwtRejected('no audience')
      if (named !== undefined && named !== realmWithoutAudience) throw new JwtRejected('another realm')
      return realmWithoutAudience
    }
    const audiences = (Array.isArray(aud) ? aud : [aud]).filter((one) => typeof one === 'string')
    if (audiences.length === 0) throw new JwtRejected('no audience')
    if (realm !== undefined && !audiences.includes(realm)) throw new JwtRejected('another audience')
    return named
  }

  return (request) => {
    const token = bearerToken(request)
    if (token === undefined || !looksLikeJwt(token)) return undefined
    return cache.get(token, request.connection) ?? verify(token)
  }
}
