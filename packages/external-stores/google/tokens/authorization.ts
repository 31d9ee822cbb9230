import { type Failure, failure } from '@warder/base'
import { foldAscii } from '@warder/keys'
import { JwtRejected, peekToken, verifyToken } from '@warder/server'
import { type Claims, emailClaim, leewaySeconds, optionalText, requireText } from './claims.ts'
import {
  type AuthorizationIssuer,
  authorizationAudience,
  authorizationIssuers,
  type Role,
} from './issuers.ts'
import type { TokenSources } from './sources.ts'
import { trialApplication, verifyTrial } from './trial.ts'

const emailTypes = ['google', 'google-visitor', 'customer-idp'] as const
export type EmailType = (typeof emailTypes)[number]

/** Permission that Google gives a user: a verified authorization token. */
export interface Authorization {
  readonly application: string
  readonly role: Role
  /** Folded. */
  readonly email: string
  /** The token names the owner's domain, or its address is of it. */
  readonly isOfOwner: boolean
  readonly emailType: EmailType
  readonly resourceName: string
  /** Empty: none. */
  readonly perimeterId: string
  /** For whom a delegated authentication token has to be; compared without regard to case. */
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

/** Refuses tokens that name another URL: they may come from a service in the middle. @throws JwtRejected */
export function requireKaclsUrl(claims: Claims, kaclsUrl: string): void {
  const url = requireText(claims, 'kacls_url', 2048)
  if (url !== kaclsUrl && url !== `${kaclsUrl}/`) throw new JwtRejected('another kacls_url')
}

type TokenName = 'authentication' | 'authorization'

/** The one answer to every token that is not accepted; why is for the log. */
function rejectToken(token: TokenName, detail: string, cause?: unknown): Failure {
  return failure('unauthorized', `The ${token} token is not accepted.`, {
    detail: `${token}: ${detail}`,
    cause,
  })
}

/** The same, for an error that a verification threw. @returns any other error unchanged */
export function asRejected(token: TokenName, error: unknown): unknown {
  return error instanceof JwtRejected ? rejectToken(token, error.message, error) : error
}
