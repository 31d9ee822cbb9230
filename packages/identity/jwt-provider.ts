import { resolve } from 'node:path'
import { type Clock, type Logger, StartupError } from '@warder/base'
import { principalNamed, unauthorized } from '@warder/keys'
import type { Outbound } from '@warder/outbound'
import { keySetProblem, readProviderText, spiffe } from '@warder/runtime/settings'
import {
  bearerToken,
  createRemoteKeySet,
  createTokenCache,
  JwtRejected,
  type KeySet,
  openFileKeySet,
  type Principal,
  peekToken,
  verifyToken,
} from '@warder/server'
import { type Extractor, looksLikeJwt } from './cascade.ts'
import type { RoleReader } from './roles.ts'

/** An issuer whose tokens are accepted. */
export interface JwtProvider {
  readonly issuer: string
  readonly keys: KeySet
  /** undefined = not checked. */
  readonly audiences: readonly string[] | undefined
}

interface Environment {
  /** Paths that are not absolute start here. */
  readonly home: string
  readonly outbound: Outbound
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Reads `issuer[,key set[,audience…]]`.
 * @throws StartupError for settings that cannot work
 */
export function readProvider(text: string, environment: Environment): JwtProvider {
  const read = readProviderText(text)
  if ('problem' in read) throw new StartupError(`jwt_auth_provider ${read.problem}`)
  const { issuer, keySet, audiences } = read
  return { issuer, keys: keySetAt('jwt_auth_provider', keySet, environment), audiences }
}

/**
 * A key set by its address: https, or `file:` and a path.
 * @throws StartupError that names the setting, for another address, and for a file without a key set
 */
export function keySetAt(
  setting: string,
  address: string,
  { home, outbound, clock, log }: Environment,
): KeySet {
  const problem = keySetProblem(address)
  if (problem !== undefined) throw new StartupError(`${setting} ${problem} (got ${address})`)
  if (!address.startsWith('file:')) return createRemoteKeySet({ url: address, outbound, clock, log })
  const path = resolve(home, address.slice('file:'.length).replace(/^\/\/(?=\/)/, ''))
  try {
    return openFileKeySet(path, clock, log)
  } catch (error) {
    if (error instanceof StartupError) throw new StartupError(`${setting}: ${error.message}`)
    throw error
  }
}

/** How long a verified token is believed without looking at the keys again. */
export const trustSeconds = 60
const maxTokens = 10_000
const leewaySeconds = 60

/**
 * Bearer tokens of the configured issuers. A token that names one of them is verified by the keys of that issuer and
 * no other; when anything is wrong with it no other extractor sees it. Tokens of other issuers are left to the next.
 */
export function jwtProviders(providers: readonly JwtProvider[], clock: Clock, roles: RoleReader): Extractor {
  const cache = createTokenCache<Principal>({ capacity: maxTokens, clock })
  return (request) => {
    const token = bearerToken(request)
    if (token === undefined || !looksLikeJwt(token)) return undefined
    return cache.get(token, request.connection) ?? verify(token)
  }

  async function verify(token: string): Promise<Principal | undefined> {
    try {
      const candidates = selectProviders(token)
      let last: unknown
      for (const provider of candidates) {
        try {
          return await verifyWith(provider, token)
        } catch (error) {
          if (!(error instanceof JwtRejected)) throw error
          last = error
        }
      }
      if (last !== undefined) throw last
      return undefined
    } catch (error) {
      if (error instanceof JwtRejected) throw unauthorized(`bearer token: ${error.message}`, error)
      throw error
    }
  }

  function selectProviders(token: string): readonly JwtProvider[] {
    const { issuer, subject } = peekToken(token)
    return providers.filter((provider) =>
      provider.issuer.startsWith(spiffe)
        ? subject?.startsWith(`${provider.issuer}/`) === true
        : provider.issuer === issuer,
    )
  }

  async function verifyWith(provider: JwtProvider, token: string): Promise<Principal> {
    const workload = provider.issuer.startsWith(spiffe)
    const { claims } = await verifyToken(
      token,
      provider.keys,
      {
        // A JWT-SVID need not have an issuer (SPIFFE JWT-SVID §3): its trust domain is in the subject.
        issuer: workload ? undefined : provider.issuer,
        audience: provider.audiences,
        requiredClaims: ['sub', 'exp'],
        leewaySeconds,
      },
      clock,
    )
    const named = principalNamed(nameIn(claims, workload), workload ? 'spiffe' : 'jwt_auth')
    const principal = roles.fromClaims(named, { kind: 'jwt', issuer: provider.issuer }, claims)
    cache.put(token, principal, Math.min(Number(claims.exp), clock.now() / 1000 + trustSeconds))
    return principal
  }
}

/** `email` is used only if the issuer states that it was verified. */
export function nameIn(claims: Readonly<Record<string, unknown>>, workload: boolean): string {
  const { email, email_verified: verified, sub } = claims
  if (!workload && typeof email === 'string' && email !== '' && verified === true) return email
  return String(sub)
}
