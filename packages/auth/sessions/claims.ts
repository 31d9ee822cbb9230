import type { AuthClaims, IdentifiedSubject } from '../identity/claims.ts'
import type { Session } from './session.ts'

/**
 * Builds the claims of a session token. The extra claims come first, so that they cannot replace a claim of the
 * service.
 */
export function toClaims(session: Session, subject: IdentifiedSubject, issuer: string): AuthClaims {
  return {
    ...subject.extraClaims,
    iss: issuer,
    sub: session.username,
    aud: [session.realm],
    exp: session.createdAt + session.maxAge,
    nbf: session.createdAt,
    iat: session.createdAt,
    jti: session.id,
    roles: subject.roles,
    as_as: session.scheme,
    as_rid: session.realm,
    as_sid: subject.subjectId,
  }
}
