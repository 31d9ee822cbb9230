import type { Clock } from '@warder/base'
import { type Names, principalNamed, unauthorized } from '@warder/keys'
import {
  bearerToken,
  createTokenCache,
  JwtRejected,
  type KeySet,
  type Principal,
  verifyToken,
} from '@warder/server'
import { type Extractor, looksLikeJwt } from './cascade.ts'
import { trustSeconds } from './jwt-provider.ts'
import type { Ended } from './revocations/ended.ts'
import type { RoleReader } from './roles.ts'
import { isRealmId, userName } from './user-name.ts'

export interface AuthVerifierOptions {
  readonly keys: KeySet
  /** Whether a token may have this `iss`; undefined = any. */
  readonly isIssuer: ((issuer: unknown) => Promise<boolean>) | undefined
  /** The realm whose sessions are accepted; undefined = every realm. */
  readonly realm: string | undefined
  /** The realm that tokens without `aud` count as; undefined = they are refused. */
  readonly realmWithoutAudience: string | undefined
  readonly roles: RoleReader
  readonly clock: Clock
  /** Ends at the authentication service; undefined = no feed: a session that ends before its token is not noticed here. */
  readonly ended?: Ended | undefined
  /** Separates the users of a name from earlier users of the same name. */
  readonly names?: Names | undefined
}

const maxTokens = 10_000

/** A verified token. */
interface Vouched {
  readonly principal: Principal
  readonly sessionId: unknown
  readonly subjectId: unknown
  /** Generation of the revocations at the last check; if it is the same, nothing was revoked since. */
  generation: number
}

/**
 * Session tokens of the authentication service, with or without a `kid`. The user is `sub`, by `userName`. Each request
 * checks whether the session was ended or its user deleted.
 */
export function authVerifier(options: AuthVerifierOptions): Extractor {
  const { keys, isIssuer, realm, roles, clock, ended, names } = options
  const cache = createTokenCache<Vouched>({ capacity: maxTokens, clock })

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
      // Checked after the signature, so that only clients with a signed token cause a fetch of the issuers.
      if ((await isIssuer?.(claims.iss)) === false) throw new JwtRejected('another issuer')
      const tokenRealm = readRealm(options, claims)
      const name = userName(tokenRealm, String(claims.sub), realm)
      const principal = roles.fromClaims(
        principalNamed(name, 'auth_verifier', tokenRealm),
        { kind: 'session', issuer: tokenRealm },
        claims,
      )
      if (typeof claims.as_sid === 'string') await names?.claim(principal.name, claims.as_sid)
      const vouched = { principal, sessionId: claims.jti, subjectId: claims.as_sid, generation: -1 }
      const accepted = await live(vouched)
      cache.put(token, vouched, Math.min(Number(claims.exp), clock.now() / 1000 + trustSeconds))
      return accepted
    } catch (error) {
      if (error instanceof JwtRejected) throw unauthorized(`session token: ${error.message}`, error)
      throw error
    }
  }

  /** @throws failure('unauthorized') when the session has ended; failure('overloaded') when that is not known now */
  async function live(vouched: Vouched): Promise<Principal> {
    await ended?.requireCurrent()
    return requireNotEnded(ended, vouched)
  }

  return (request) => {
    const token = bearerToken(request)
    if (token === undefined || !looksLikeJwt(token)) return undefined
    const known = cache.get(token, request.connection)
    if (known === undefined) return verify(token)
    // In this turn of the event loop, as for nearly all requests.
    return ended === undefined || ended.isCurrent() ? requireNotEnded(ended, known) : live(known)
  }
}

/** @throws failure('unauthorized') when the session has ended */
function requireNotEnded(ended: Ended | undefined, vouched: Vouched): Principal {
  if (ended === undefined) return vouched.principal
  const { generation } = ended
  if (vouched.generation !== generation) {
    const { sessionId, subjectId } = vouched
    if (typeof sessionId === 'string' && ended.hasSession(sessionId))
      throw unauthorized('the session has ended')
    if (typeof subjectId === 'string' && ended.hasPerson(subjectId))
      throw unauthorized('the user of the session was deleted')
    vouched.generation = generation
  }
  return vouched.principal
}

/** The realm of a token with a valid signature. @throws JwtRejected for a realm that is not accepted */
function readRealm(
  { realm, realmWithoutAudience }: AuthVerifierOptions,
  { aud, as_rid: claimed }: Readonly<Record<string, unknown>>,
): string {
  const named = typeof claimed === 'string' ? claimed : undefined
  if (aud === undefined) {
    if (realmWithoutAudience === undefined) throw new JwtRejected('no audience')
    if (named !== undefined && named !== realmWithoutAudience) throw new JwtRejected('another realm')
    return realmWithoutAudience
  }
  const audiences = (Array.isArray(aud) ? aud : [aud]).filter((one) => typeof one === 'string')
  if (audiences.length === 0) throw new JwtRejected('no audience')
  if (realm !== undefined) {
    if (!audiences.includes(realm)) throw new JwtRejected('another audience')
    if (named !== undefined && named !== realm) throw new JwtRejected('another realm')
    return realm
  }
  // A token without a realm claim has exactly one audience, which is the realm.
  const only = named ?? (audiences.length === 1 ? audiences[0] : undefined)
  if (only === undefined || !isRealmId(only)) throw new JwtRejected('no realm')
  return only
}
