import { failure } from '@warder/base'
import Type from 'typebox'

const shortNames = {
  UsernamePassword: 'up',
  Jwt: 'jwt',
  ClientCertificate: 'cc',
  Fido2: 'f2',
  DigitalCredentials: 'dc',
  Saml: 'sa',
} as const
/** Authentication schemes: password, JWT, client certificate, FIDO2, digital credentials, SAML. */
export type AuthScheme = (typeof shortNames)[keyof typeof shortNames]

/** A scheme as clients may write it: `UsernamePassword` or `up`, and so on. */
export const SchemeName = Type.Union(
  [...Object.keys(shortNames), ...Object.values(shortNames)].map((name) => Type.Literal(name)),
)

/** @param name a value accepted by `SchemeName` */
export function readScheme(name: string): AuthScheme {
  return Object.hasOwn(shortNames, name) ? shortNames[name as keyof typeof shortNames] : (name as AuthScheme)
}

/** An authenticated user, with the claims of the session token to come. */
export interface Subject {
  readonly username: string
  readonly scheme: AuthScheme
  readonly certificateSha256: string | undefined
  readonly roles: readonly string[]
  readonly extraClaims: Readonly<Record<string, unknown>> | undefined
}

/** An authenticated user with a subject id, which distinguishes users who had the same name one after the other. */
export interface IdentifiedSubject extends Subject {
  /** A UUID that changes when the name belongs to another user: see `persons/`. */
  readonly subjectId: string
}

/** Payload of a session token. */
export interface AuthClaims extends Readonly<Record<string, unknown>> {
  readonly iss: string
  readonly sub: string
  readonly aud: readonly string[]
  readonly exp: number
  readonly nbf: number
  readonly iat: number
  readonly jti: string
  readonly roles: readonly string[]
  readonly as_as: AuthScheme
  readonly as_rid: string
  /** Changes when the name is assigned to another user. */
  readonly as_sid: string
}

export const ClaimsReply = Type.Object(
  {
    iss: Type.String(),
    sub: Type.String(),
    aud: Type.Array(Type.String()),
    exp: Type.Integer(),
    nbf: Type.Integer(),
    iat: Type.Integer(),
    jti: Type.String(),
    roles: Type.Array(Type.String()),
    as_as: Type.String(),
    as_rid: Type.String(),
    as_sid: Type.String({ description: 'Changes when the name is assigned to another user.' }),
  },
  { description: 'The extra claims of the credential follow these members.' },
)

/**
 * Reserved claim names: those that only the service sets in tokens and certificates; `email` and `email_verified`, by
 * which relying parties (such as a kms with this service as a JWT provider) may identify users; and names that
 * JavaScript treats specially.
 */
export const reservedClaims: ReadonlySet<string> = new Set([
  ...Object.keys(ClaimsReply.properties),
  'auth_scheme',
  'email',
  'email_verified',
  'realm_id',
  'verification_key',
  '__proto__',
  'constructor',
  'prototype',
])

/** Returns the extra claims for a session token, without claims whose names were reserved after they were set. */
export function sessionClaims(
  claims: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, unknown>> | undefined {
  if (claims === undefined) return undefined
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !reservedClaims.has(name)))
}

const maxExtraClaimsBytes = 4096

/** @throws failure('bad_request') for a reserved name, or more than 4 KiB as JSON */
export function checkExtraClaims(claims: Readonly<Record<string, unknown>>): void {
  for (const name of Object.keys(claims)) {
    if (reservedClaims.has(name)) {
      throw failure(
        'bad_request',
        `extra_claims: '${name}' is a reserved claim name and cannot be used as an extra claim.`,
      )
    }
  }
  if (Buffer.byteLength(JSON.stringify(claims)) > maxExtraClaimsBytes) {
    throw failure('bad_request', 'extra_claims: must not exceed 4096 bytes as JSON.')
  }
}
