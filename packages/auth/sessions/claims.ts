import type { AuthClaims, IdentifiedSubject } from '../identity/index.ts'
import type { Session } from './session.ts'

/** The extra claims come first: none of them can take the place of a claim of ours. */
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
