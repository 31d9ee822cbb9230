import { BoundedMap, type Clock, type Logger } from '@warder/base'
import type { Outbound } from '@warder/outbound'
import {
  createRemoteKeySet,
  JwtRejected,
  jwsAlgorithms,
  type KeySet,
  peekToken,
  verifyToken,
} from '@warder/server'
import Type from 'typebox'
import { methodSettings, nullable, type Realm } from '../../realms/realm.ts'
import { requireHttps } from '../../texts.ts'

const IdentityProvider = Type.Object({
  jwt_issuer_uri: Type.String({ minLength: 1, maxLength: 2048 }),
  jwks_uri: Type.String({ minLength: 1, maxLength: 2048 }),
  jwt_audience: nullable(Type.String({ minLength: 1, maxLength: 2048 })),
})

/** The identity providers whose tokens a realm accepts. */
export const jwtSettings = methodSettings(
  'jwt_params',
  Type.Object({
    idp_params: Type.Array(IdentityProvider, { maxItems: 16 }),
    smallest_refresh_interval_seconds: nullable(Type.Integer({ minimum: 1, maximum: 86_400 })),
  }),
  (settings, at) => {
    for (const [index, { jwks_uri }] of settings.idp_params.entries()) {
      requireHttps(`${at}.idp_params[${index}].jwks_uri`, jwks_uri)
    }
    return settings
  },
)
type JwtSettings = NonNullable<ReturnType<typeof jwtSettings.of>>

/** Lists the identity providers of a realm, each once, in the order of the realm. */
export function listIssuers(realm: Realm): readonly string[] {
  const providers = jwtSettings.of(realm)?.idp_params ?? []
  return [...new Set(providers.map(({ jwt_issuer_uri }) => jwt_issuer_uri))]
}

/** Subject of a token, and its issuer. */
interface TokenSubject {
  readonly subject: string
  readonly issuer: string
}

/** The identity providers whose tokens realms accept. */
export interface IdentityProviders {
  /** Subject of a token; undefined if none of the realm's providers issued it. */
  verifySubject(settings: JwtSettings, token: string): Promise<TokenSubject | undefined>
  /** Key set at a URL, cached between requests. */
  keySet(url: string, refreshSeconds: number): KeySet
}

/** Capacity of the cache of key sets; the oldest is evicted first. */
const maxKeySets = 1024
const defaultRefreshSeconds = 60
/** Maximum clock difference to an identity provider. */
const leewaySeconds = 60
const maxSubjectLength = 512

export function createIdentityProviders(parts: {
  readonly outbound: Outbound
  readonly clock: Clock
  readonly log: Logger
}): IdentityProviders {
  const { outbound, clock, log } = parts
  const keySets = new BoundedMap<string, KeySet>(maxKeySets)

  function keySet(url: string, refreshSeconds: number): KeySet {
    const name = `${refreshSeconds} ${url}`
    const known = keySets.get(name)
    if (known !== undefined) return known
    const made = createRemoteKeySet({ url, outbound, clock, log, minRefreshSeconds: refreshSeconds })
    keySets.set(name, made)
    return made
  }

  /** Each issuer is pinned to its own keys: a key of one provider cannot sign for another of the same realm. */
  async function verifySubject(settings: JwtSettings, token: string): Promise<TokenSubject | undefined> {
    const issuer = peekIssuer(token)
    const refresh = settings.smallest_refresh_interval_seconds ?? defaultRefreshSeconds
    for (const provider of settings.idp_params) {
      if (provider.jwt_issuer_uri !== issuer) continue
      const expected = {
        issuer,
        audience: provider.jwt_audience === undefined ? undefined : [provider.jwt_audience],
        requiredClaims: ['sub', 'iss', 'exp'],
        leewaySeconds,
        algorithms: jwsAlgorithms,
      }
      try {
        const { claims } = await verifyToken(token, keySet(provider.jwks_uri, refresh), expected, clock)
        const { sub } = claims
        if (typeof sub === 'string' && sub !== '' && sub.length <= maxSubjectLength) {
          return { subject: sub, issuer }
        }
      } catch (error) {
        if (!(error instanceof JwtRejected)) throw error
        log.info({ reason: error.message }, 'a token of an identity provider was refused')
      }
    }
    return undefined
  }

  return { verifySubject: verifySubject, keySet }
}

function peekIssuer(token: string): string | undefined {
  try {
    return peekToken(token).issuer
  } catch (error) {
    if (error instanceof JwtRejected) return undefined
    throw error
  }
}
