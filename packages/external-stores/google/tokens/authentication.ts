import { foldEmail } from '@warder/keys'
import { JwtRejected, type PeekedToken, peekToken, verifyToken } from '@warder/server'
import { asRejected, requireKaclsUrl } from './authorization.ts'
import { type Claims, delegateIn, emailClaim, leewaySeconds, requireText } from './claims.ts'
import { delegationAudience, migrationAudience } from './issuers.ts'
import type { TokenSources } from './sources.ts'
import { isTrialResource, verifyTrial } from './trial.ts'

/** Identity of a user: a verified authentication token. */
export interface Authentication {
  readonly issuer: string
  /** Folded: `google_email` where the token has it, else `email`. */
  readonly email: string
  /** More names of the user in the token: none gives a right, each can be blocked. */
  readonly otherNames: readonly string[]
  /** Of an identity provider of guests. */
  readonly guests: boolean
  /** It is of a trial, and serves nothing else. */
  readonly trial: boolean
  /** Unix seconds. */
  readonly expiresAt: number
  /** Set when the user delegated to another user for one resource. */
  readonly delegation: Delegation | undefined
}

export interface Delegation {
  /** Folded. */
  readonly to: string
  readonly resourceName: string
}

/**
 * Verifies an authentication token: of a configured identity provider, or one that this service issued itself to a user
 * who acts for another user (`delegate`).
 * @throws failure('unauthorized')
 */
export async function verifyAuthentication(compact: string, sources: TokenSources): Promise<Authentication> {
  try {
    const token = peekToken(compact)
    const { issuer } = token
    if (issuer === undefined) throw new JwtRejected('no iss')
    if (issuer === sources.kaclsUrl) return await verifyDelegated(token, sources)
    if (issuer === sources.trialIssuer) {
      const claims = await verifyTrial(token, sources)
      return {
        issuer,
        email: readEmail(claims),
        otherNames: getOtherNames(claims),
        guests: false,
        trial: true,
        expiresAt: Number(claims.exp),
        delegation: undefined,
      }
    }
    return await fromProvider(token, issuer, sources)
  } catch (error) {
    throw asRejected('authentication', error)
  }
}

/** Two entries of one issuer differ in their audiences, or in whether they are of guests: each is tried. */
async function fromProvider(
  token: PeekedToken,
  issuer: string,
  sources: TokenSources,
): Promise<Authentication> {
  let last: unknown
  for (const provider of sources.providers) {
    if (provider.issuer !== issuer) continue
    const expected = {
      issuer,
      audience: provider.audiences,
      requiredClaims: ['exp', 'iat'],
      leewaySeconds,
    }
    try {
      const { claims } = await verifyToken(token, sources.keysAt(provider.keySet), expected, sources.clock)
      // Only this service issues tokens of a delegation.
      if (claims.delegated_to !== undefined) throw new JwtRejected('a provider cannot delegate')
      return {
        issuer,
        email: readEmail(claims),
        otherNames: getOtherNames(claims),
        guests: provider.guests,
        trial: false,
        expiresAt: Number(claims.exp),
        delegation: undefined,
      }
    } catch (error) {
      if (!(error instanceof JwtRejected)) throw error
      last = error
    }
  }
  throw last ?? new JwtRejected('another issuer')
}

/** `google_email` takes precedence if it is present ("Encrypt & decrypt data"). */
function readEmail(claims: Claims): string {
  if (claims.email_verified === false || claims.email_verified === 'false')
    throw new JwtRejected('the e-mail address was not verified')
  return emailClaim(claims, claims.google_email === undefined ? 'email' : 'google_email')
}

const nameClaims = ['email', 'google_email', 'preferred_username', 'upn'] as const

function getOtherNames(claims: Claims): readonly string[] {
  return nameClaims.map((name) => foldEmail(claims[name])).filter((email) => email !== undefined)
}

async function verifyDelegated(token: PeekedToken, sources: TokenSources): Promise<Authentication> {
  const expected = {
    issuer: sources.kaclsUrl,
    audience: [delegationAudience],
    requiredClaims: ['exp', 'iat'],
    leewaySeconds,
    algorithms: ['RS256'],
  }
  const { claims } = await verifyToken(token, sources.ownKeys, expected, sources.clock)
  const resourceName = requireText(claims, 'resource_name', 512)
  return {
    issuer: sources.kaclsUrl,
    email: emailClaim(claims, 'email'),
    otherNames: Array.isArray(claims.also)
      ? claims.also.filter((name): name is string => typeof name === 'string')
      : [],
    guests: claims.guest === true,
    trial: isTrialResource(resourceName),
    expiresAt: Number(claims.exp),
    delegation: { to: delegateIn(requireText(claims, 'delegated_to', 512)), resourceName },
  }
}

/** Another key service that moves a key here to itself: its address, and the resource that it may have. */
export interface Peer {
  readonly kaclsUrl: string
  readonly resourceName: string
}

/**
 * Verifies the token of another key service ("KACLS authentication token for PrivilegedUnwrap").
 * @returns undefined when the token does not name an allowed key service as its issuer
 * @throws failure('unauthorized') when it names one but is invalid
 */
export async function verifyPeer(compact: string, sources: TokenSources): Promise<Peer | undefined> {
  try {
    const token = peekToken(compact)
    const { issuer } = token
    const peer = sources.peers.find((url) => issuer === url || issuer === `${url}/`)
    if (peer === undefined) return undefined
    const expected = {
      issuer,
      audience: [migrationAudience],
      requiredClaims: ['exp', 'iat'],
      leewaySeconds,
    }
    const { claims } = await verifyToken(token, sources.keysAt(`${peer}/certs`), expected, sources.clock)
    requireKaclsUrl(claims, sources.kaclsUrl)
    return { kaclsUrl: peer, resourceName: requireText(claims, 'resource_name', 128) }
  } catch (error) {
    throw asRejected('authentication', error)
  }
}
