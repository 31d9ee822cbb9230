import { type Failure, failure } from '@warder/base'
import { foldAscii, foldEmail } from '@warder/keys'
import { JwtRejected, type PeekedToken, peekToken, verifyToken } from '@warder/server'
import {
  type AuthorizationIssuer,
  authorizationAudience,
  authorizationIssuers,
  type Claims,
  delegateIn,
  delegationAudience,
  emailClaim,
  isTrialResource,
  leewaySeconds,
  migrationAudience,
  optionalText,
  type Role,
  requireText,
  type TokenSources,
  trialApplication,
  verifyTrial,
} from './claims.ts'

const emailTypes = ['google', 'google-visitor', 'customer-idp'] as const
type EmailType = (typeof emailTypes)[number]

/** Permission of a user by Google: a verified authorization token. */
export interface Authorization {
  readonly application: string
  readonly role: Role
  /** Folded. */
  readonly email: string
  /** The token names the owner's domain, or an address in it. */
  readonly isOfOwner: boolean
  readonly emailType: EmailType
  readonly resourceName: string
  /** Empty: none. */
  readonly perimeterId: string
  /** Required delegate of a delegated authentication token; compared without regard to case. */
  readonly delegatedTo: string | undefined
  /** Base64 of the SHA-256 of the public key whose private half may be used. */
  readonly spkiHash: string | undefined
  readonly messageId: string | undefined
}

const perimeterBytes = 128

/**
 * Verifies an authorization token: by the keys of the one issuer that it names, which must be Google's, for this
 * service's own URL and the owner's domain. The operation checks what the token permits.
 * @throws failure('unauthorized')
 */
export async function verifyAuthorization(compact: string, sources: TokenSources): Promise<Authorization> {
  try {
    const token = peekToken(compact)
    const { issuer } = token
    if (issuer !== undefined && issuer === sources.trialIssuer) {
      const claims = await verifyTrial(token, sources)
      return read(claims, trialApplication, sources)
    }
    const row = authorizationIssuers.find((known) => known.issuer === issuer)
    if (row === undefined) throw new JwtRejected('another issuer')
    const expected = {
      issuer: row.issuer,
      audience: [authorizationAudience],
      requiredClaims: ['exp', 'iat'],
      leewaySeconds,
      algorithms: ['RS256'],
    }
    const keys = sources.keysAt(`${sources.authorizationKeys}${row.issuer}`)
    const { claims } = await verifyToken(token, keys, expected, sources.clock)
    return read(claims, row, sources)
  } catch (error) {
    throw asRejected('authorization', error)
  }
}

function read(claims: Claims, issuer: AuthorizationIssuer, sources: TokenSources): Authorization {
  requireKaclsUrl(claims, sources.kaclsUrl)
  const domain = optionalText(claims, 'kacls_owner_domain', 255)
  if (domain !== undefined && foldAscii(domain) !== sources.ownerDomain)
    throw new JwtRejected('another kacls_owner_domain')
  const role = issuer.roles.find((known) => known === claims.role)
  if (role === undefined) throw new JwtRejected(`the role is not defined for ${issuer.application}`)
  const emailType = emailTypes.find((known) => known === (claims.email_type ?? 'google'))
  if (emailType === undefined) throw new JwtRejected('the email_type is unknown')
  const delegatedTo = optionalText(claims, 'delegated_to', 512)
  if (delegatedTo === '') throw new JwtRejected('delegated_to is empty')
  const algorithm = optionalText(claims, 'spki_hash_algorithm', 32)
  if (algorithm !== undefined && algorithm !== 'SHA-256')
    throw new JwtRejected('spki_hash_algorithm is not SHA-256')
  const email = emailClaim(claims, 'email')
  return {
    application: issuer.application,
    role,
    email,
    isOfOwner: domain !== undefined || email.endsWith(`@${sources.ownerDomain}`),
    emailType,
    resourceName: requireText(claims, 'resource_name', issuer.resourceBytes),
    perimeterId: optionalText(claims, 'perimeter_id', perimeterBytes) ?? '',
    delegatedTo,
    spkiHash: optionalText(claims, 'spki_hash', 64),
    messageId: optionalText(claims, 'message_id', 1024),
  }
}

/**
 * Refuses tokens that contain another URL: a service in the middle may have forwarded them. @throws
 * JwtRejected
 */
function requireKaclsUrl(claims: Claims, kaclsUrl: string): void {
  const url = requireText(claims, 'kacls_url', 2048)
  if (url !== kaclsUrl && url !== `${kaclsUrl}/`) throw new JwtRejected('another kacls_url')
}

type TokenName = 'authentication' | 'authorization'

/** The same error for every rejected token; the reason is only logged. */
function rejectToken(token: TokenName, detail: string, cause?: unknown): Failure {
  return failure('unauthorized', `The ${token} token is not accepted.`, {
    detail: `${token}: ${detail}`,
    cause,
  })
}

/** The same, for an error that a verification threw. @returns any other error unchanged */
function asRejected(token: TokenName, error: unknown): unknown {
  return error instanceof JwtRejected ? rejectToken(token, error.message, error) : error
}

/** Identity of a user: a verified authentication token. */
export interface Authentication {
  readonly issuer: string
  /** Folded: `google_email` if the token has it, else `email`. */
  readonly email: string
  /** Further names of the user in the token, which grant no right but can be blocked. */
  readonly otherNames: readonly string[]
  /** Of an identity provider of guests. */
  readonly guests: boolean
  /** It belongs to a trial, and is valid only for it. */
  readonly trial: boolean
  /** Unix seconds. */
  readonly expiresAt: number
  /** Set when the user delegated to another user for one resource. */
  readonly delegation: Delegation | undefined
}

interface Delegation {
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

/** Entries of one issuer may differ in their audiences, or in whether they are for guests, so each is tried. */
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

/** Another key service that migrates a key from here: its URL, and the resource whose key it may request. */
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
