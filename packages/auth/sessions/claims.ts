import type { AuthClaims, Subject } from '../identity/index.ts'
import type { Session } from './session.ts'

/** As long as each of them: for the size of a cookie that is not made. */
const longestSubjectId = '00000000-0000-0000-0000-000000000000'

/** The extra claims come first: none of them can take the place of a claim of ours. */
export function claimsOf(session: Session, subject: Subject, issuer: string): AuthClaims {
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
    as_sid: subject.subjectId ?? longestSubjectId,
  }
}
