import { type Clock, failure } from '@warder/base'
import { principalNamed, unauthorized } from '@warder/keys'
import { type Outbound, OutboundError } from '@warder/outbound'
import type { Seal } from '@warder/storage'
import type { Configuration, CustomFetchOptions } from 'openid-client'
import { BegunLogins, clearCookie, type LoginCookie } from './begun-logins.ts'
import { nameIn } from './jwt-provider.ts'
import { ClientLimiter } from './places.ts'
import type { RoleReader, StoredRoleClaims } from './roles.ts'

/** Logins of the web page at an OpenID provider: the authorization code flow with PKCE. */
export interface OidcLogin {
  readonly issuer: string
  /** Address for the browser, and the cookie that it must return. @throws failure('overloaded') */
  begin(clientAddress: string): Promise<{ readonly location: string; readonly cookie: string }>
  /**
   * @param query query of the redirect from the provider
   * @param cookies values of the cookie of `begin`
   * @returns the user, for a session
   * @throws failure('unauthorized' | 'overloaded')
   */
  finish(
    query: URLSearchParams,
    cookies: readonly string[],
    clientAddress: string,
  ): Promise<{ readonly name: string; readonly roleClaims?: StoredRoleClaims }>
}

export interface OidcOptions {
  /** https. */
  readonly issuer: string
  readonly clientId: string
  /** undefined = a public client; PKCE alone protects the code then. */
  readonly clientSecret: string | undefined
  readonly redirectUri: string
  readonly outbound: Outbound
  readonly seal: Seal
  readonly clock: Clock
  readonly roles: RoleReader
}

export const loginCookieName = 'auth_login'
const cookie: LoginCookie = { name: loginCookieName, path: '/ui/callback', seconds: 600 }
export const endedLoginCookie = clearCookie(cookie)
/** Exchanges with the provider at one time. */
const maxWaiting = 32
const discoveryMs = 3_600_000
const retryDiscoveryMs = 2000

/** Values that the callback of a login must contain. */
interface Started {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

type Client = typeof import('openid-client')

/**
 * OpenID Connect Core §3.1 with PKCE S256 (RFC 7636), state and nonce; the ID token's signature is checked too, and
 * the provider's tokens are not stored. The provider is discovered at the first login, so that it need not be reachable
 * when the service starts; while it is unreachable, logins fail.
 */
export function oidcLogin(options: OidcOptions): OidcLogin {
  const { issuer, redirectUri, roles } = options
  const discovered = discovery(options)
  const begun = new BegunLogins<Started>(cookie, options)
  const places = new ClientLimiter(maxWaiting, 'too many logins are waiting')

  return {
    issuer,
    begin: (clientAddress) =>
      places.hold(clientAddress, async () => {
        const { client, config } = await discovered()
        const started: Started = {
          state: client.randomState(),
          nonce: client.randomNonce(),
          verifier: client.randomPKCECodeVerifier(),
        }
        const location = client.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: 'openid email',
          state: started.state,
          nonce: started.nonce,
          code_challenge: await client.calculatePKCECodeChallenge(started.verifier),
          code_challenge_method: 'S256',
        })
        return { location: location.href, cookie: begun.begin(started) }
      }),
    async finish(query, cookies, clientAddress) {
      const started = await begun.open(cookies)
      return places.hold(clientAddress, async () => {
        const { client, config } = await discovered()
        const url = new URL(redirectUri)
        url.search = query.toString()
        const claims = await exchangeCode(client, config, url, started)
        const { name } = principalNamed(nameIn(claims, false), 'session')
        const roleClaims = roles.select(name, { kind: 'jwt', issuer }, claims)
        return { name, ...(roleClaims !== undefined && { roleClaims }) }
      })
    },
  }
}

async function exchangeCode(
  client: Client,
  config: Configuration,
  url: URL,
  { state, nonce, verifier }: Started,
): Promise<Readonly<Record<string, unknown>>> {
  try {
    const tokens = await client.authorizationCodeGrant(config, url, {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (claims === undefined) throw unauthorized('the response of the provider has no ID token')
    return claims
  } catch (error) {
    if (error instanceof Unreachable) throw unreachable(error)
    if (error instanceof Error && error.cause instanceof Unreachable) throw unreachable(error)
    throw unauthorized(
      `the login at the provider failed: ${error instanceof Error ? error.message : error}`,
      error,
    )
  }
}

/** The provider is unreachable: the login is unverified, so it is neither accepted nor counted as refused. */
class Unreachable extends Error {}

function unreachable(cause: unknown): Error {
  const refused = outboundErrorIn(cause)
  const sentence =
    refused?.code === 'address'
      ? 'the OpenID provider has a private address: set outbound_allow_private_networks to permit it'
      : 'the OpenID provider does not respond'
  return failure('overloaded', sentence, { cause, retryAfterSeconds: 2 })
}

/** The library wraps errors of `throughOutbound`. */
function outboundErrorIn(error: unknown): OutboundError | undefined {
  if (error instanceof OutboundError) return error
  return error instanceof Error ? outboundErrorIn(error.cause) : undefined
}

interface Discovered {
  readonly client: Client
  readonly config: Configuration
}

/** The provider's metadata, read once an hour; a failure is not asked about again for a moment. */
function discovery(options: OidcOptions): () => Promise<Discovered> {
  const { clock } = options
  let known: { readonly asked: Promise<Discovered>; until: number } | undefined
  return () => {
    if (known !== undefined && clock.monotonic() < known.until) return known.asked
    const asked = discover(options)
    const entry = { asked, until: clock.monotonic() + discoveryMs }
    known = entry
    asked.catch(() => {
      entry.until = clock.monotonic() + retryDiscoveryMs
    })
    return asked
  }
}

async function discover({ issuer, clientId, clientSecret, outbound }: OidcOptions): Promise<Discovered> {
  // Loaded only if it is used.
  const client = await import('openid-client')
  try {
    const config = await client.discovery(
      new URL(issuer),
      clientId,
      undefined,
      clientSecret === undefined ? client.None() : client.ClientSecretPost(clientSecret),
      {
        [client.customFetch]: (url: string, request: CustomFetchOptions) =>
          throughOutbound(outbound, url, request),
        execute: [client.enableNonRepudiationChecks],
      },
    )
    return { client, config }
  } catch (error) {
    throw unreachable(error)
  }
}

/** The library's requests go the way of all others: https, no redirects, bounded in time, size and address. */
async function throughOutbound(
  outbound: Outbound,
  url: string,
  { method, headers, body }: CustomFetchOptions,
): Promise<Response> {
  try {
    const {
      status,
      headers: received,
      body: bytes,
    } = method === 'POST'
      ? await outbound.post(url, Buffer.from(body === undefined || body === null ? '' : String(body)), {
          headers,
        })
      : await outbound.get(url, { headers })
    const type = received['content-type']
    return new Response(status === 204 ? null : Buffer.from(bytes), {
      status,
      headers: type === undefined ? {} : { 'content-type': type },
    })
  } catch (cause) {
    throw new Unreachable('the request to the provider failed', { cause })
  }
}
