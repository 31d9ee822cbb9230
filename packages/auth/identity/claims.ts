import Type from 'typebox'
import type { AuthScheme } from './scheme.ts'

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
