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
import type { JwtSettings } from './settings.ts'

/** Subject of a token, and its issuer. */
export interface TokenSubject {
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
