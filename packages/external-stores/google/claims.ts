import type { Clock } from '@warder/base'
import { foldAscii, foldEmail } from '@warder/keys'
import { JwtRejected, type KeySet, type PeekedToken, verifyToken } from '@warder/server'

export type Claims = Readonly<Record<string, unknown>>

/** @returns undefined when it is absent. @throws JwtRejected for values that are not text or too long */
export function optionalText(claims: Claims, name: string, maxBytes: number): string | undefined {
  const value = claims[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string' || !value.isWellFormed()) throw new JwtRejected(`${name} is not a string`)
  if (Buffer.byteLength(value) > maxBytes) throw new JwtRejected(`${name} is longer than ${maxBytes} bytes`)
  return value
}

/** @throws JwtRejected when it is absent or empty, too */
export function requireText(claims: Claims, name: string, maxBytes: number): string {
  const value = optionalText(claims, name, maxBytes)
  if (value === undefined || value === '') throw new JwtRejected(`no ${name}`)
  return value
}

/** Folded, see `foldEmail`. @throws JwtRejected */
export function emailClaim(claims: Claims, name: string): string {
  const email = foldEmail(claims[name])
  if (email === undefined) throw new JwtRejected(`${name} is not an e-mail address`)
  return email
}

/**
 * Normalizes the name of the delegate of a user: a meeting room, or another entity that Google names. An e-mail address
 * is folded; any other text is compared without regard to the case of A to Z.
 */
export function delegateIn(text: string): string {
  return foldEmail(text) ?? foldAscii(text)
}

/** Allowed clock difference between two machines. */
export const leewaySeconds = 60

/** Roles of an authorization token (Google's reference, "Authorization tokens"). */
export type Role = 'reader' | 'writer' | 'upgrader' | 'decrypter' | 'signer' | 'migrator' | 'verifier'

/** An issuer of Google's authorization tokens. */
export interface AuthorizationIssuer {
  /** Its name in audit records. */
  readonly application: string
  readonly issuer: string
  /** Roles in its tokens; roles of other applications are refused. */
  readonly roles: readonly Role[]
  /** Longest resource name, in bytes. */
  readonly resourceBytes: number
}

const documents: readonly Role[] = ['reader', 'writer', 'upgrader']
const mail: readonly Role[] = ['decrypter', 'signer']
const tokenIssuer = (application: string): string =>
  `gsuitecse-tokenissuer-${application}@system.gserviceaccount.com`

/** Google's issuers ("Configure your service", "Authorization tokens"). */
export const authorizationIssuers: readonly AuthorizationIssuer[] = [
  ...['drive', 'meet', 'calendar'].map((application) => ({
    application,
    issuer: tokenIssuer(application),
    roles: documents,
    resourceBytes: 128,
  })),
  ...['gmail', 'gmail-sta'].map((application) => ({
    application,
    issuer: tokenIssuer(application),
    roles: mail,
    resourceBytes: 512,
  })),
  {
    application: 'migration',
    issuer: 'apps-security-cse-kaclscommunication@system.gserviceaccount.com',
    roles: ['migrator', 'verifier'],
    resourceBytes: 128,
  },
]

/** The one audience of Google's authorization tokens. */
export const authorizationAudience = 'cse-authorization'
/** Audience of tokens with which a key service requests a migrated key from another ("Authentication tokens"). */
export const migrationAudience = 'kacls-migration'
/** Audience of the tokens that this service issues for delegation; its other tokens have another audience. */
export const delegationAudience = 'kacls-delegation'

/** An identity provider of the settings. */
export interface IdentityProvider {
  readonly issuer: string
  /** Address of its key set. */
  readonly keySet: string
  readonly audiences: readonly string[]
  /** true: the provider authenticates guests, who have no Google account of the organisation. */
  readonly guests: boolean
}

/** Everything that verifies tokens. */
export interface TokenSources {
  /** URL at which Google reaches this scope, without a trailing slash. */
  readonly kaclsUrl: string
  /** Folded. */
  readonly ownerDomain: string
  /** Prefix of the key set URLs of Google's issuers; the issuer follows. */
  readonly authorizationKeys: string
  readonly providers: readonly IdentityProvider[]
  /** URLs of the key services that may request keys that are migrated to them. */
  readonly peers: readonly string[]
  /** `iss` of tokens of a trial. */
  readonly trialIssuer: string
  readonly keysAt: (address: string) => KeySet
  /** Public keys for the tokens that this service signed. */
  readonly ownKeys: KeySet
  /** The public key of tokens of a trial; undefined: there are no trials. */
  readonly trialKeys: KeySet | undefined
  readonly clock: Clock
}

/**
 * `npm run clouds -- google` simulates Google and the identity provider with tokens that the trial key signed. They are
 * accepted only for resources with this prefix, which Google does not use, so a trial cannot unwrap keys of a user's
 * resource.
 */
const trialResources = 'warder-trial/'

export function isTrialResource(name: string): boolean {
  return name.startsWith(trialResources)
}

const trialAudience = 'warder-trial'

export const trialApplication: AuthorizationIssuer = {
  application: 'trial',
  issuer: 'trial',
  // Trials have no mail role: wrapped private keys belong to no resource, so they cannot be limited to a
  // trial.
  roles: ['reader', 'writer', 'upgrader', 'verifier'],
  resourceBytes: 128,
}

/** Verifies a token of a trial. @throws JwtRejected */
export async function verifyTrial(token: PeekedToken, sources: TokenSources): Promise<Claims> {
  const keys = sources.trialKeys
  if (keys === undefined) throw new JwtRejected('the settings have no trial key')
  const expected = {
    issuer: sources.trialIssuer,
    audience: [trialAudience],
    requiredClaims: ['exp', 'iat'],
    leewaySeconds,
    algorithms: ['RS256'],
  }
  const { claims } = await verifyToken(token, keys, expected, sources.clock)
  if (Number(claims.exp) - Number(claims.iat) > maxSeconds)
    throw new JwtRejected('a trial token is valid for at most ten minutes')
  if (!isTrialResource(requireText(claims, 'resource_name', 128)))
    throw new JwtRejected(`a trial resource must begin with ${trialResources}`)
  return claims
}

const maxSeconds = 600
