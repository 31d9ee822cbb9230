import { createTokenCache, JwtRejected, type KeySet, verifyToken } from '@warder/foundation/jwt'
import type { Principal } from '@warder/foundation/operations'
import type { Clock } from '@warder/foundation/runtime'
import { bearerToken, type Extractor, looksLikeJwt, principalNamed, unauthorized } from './extractor.ts'
import { trustSeconds } from './jwt-provider.ts'

export interface AuthVerifierOptions {
  readonly keys: KeySet
  /** Whether a token may have this `iss`; undefined = any. */
  readonly isIssuer: ((issuer: unknown) => boolean | Promise<boolean>) | undefined
  /** The realm whose sessions are accepted; undefined = every realm. */
  readonly realm: string | undefined
  readonly clock: Clock
}

const mostTokens = 10_000

/**
 * Session tokens of the authentication service, with or without a `kid`. The user is `sub`. A session that ends
 * before its token does is not seen here: tokens are short-lived, and nothing asks the authentication service.
 */
export function authVerifier({ keys, isIssuer, realm, clock }: AuthVerifierOptions): Extractor {
  const cache = createTokenCache<Principal>({ capacity: mostTokens, clock })

  async function verify(token: string): Promise<Principal> {
    try {
      const { claims } = await verifyToken(
        token,
        keys,
        {
          issuer: undefined,
          audience: realm === undefined ? undefined : [realm],
          requiredClaims: ['sub', 'exp'],
          leewaySeconds: 60,
        },
        clock,
      )
      // Only now: who cannot sign does not make this service ask for the issuers.
      if ((await isIssuer?.(claims.iss)) === false) throw new JwtRejected('another issuer')
      const realmOf = typeof claims.as_rid === 'string' ? claims.as_rid : undefined
      const principal = principalNamed(String(claims.sub), 'auth_verifier', realmOf)
      cache.put(token, principal, Math.min(Number(claims.exp), clock.now() / 1000 + trustSeconds))
      return principal
    } catch (error) {
      if (error instanceof JwtRejected) throw unauthorized(`session token: ${error.message}`, error)
      throw error
    }
  }

  return (request) => {
    const token = bearerToken(request)
    if (token === undefined || !looksLikeJwt(token)) return undefined
    return cache.get(token, request.connection) ?? verify(token)
  }
}
