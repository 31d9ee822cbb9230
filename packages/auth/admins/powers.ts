import { failure } from '@warder/foundation/errors'
import type { Database } from '@warder/foundation/sql'
import { findRealm, issuersOf, superRealm } from '../realms/index.ts'
import type { Session } from '../sessions/session.ts'
import { findSubject } from '../subjects/index.ts'
import { adminsBehind } from './admin-store.ts'

/** What the admins behind a session may do right now. Read from the database at each request, never remembered. */
export interface Powers {
  readonly isSuper: boolean
  /** Realms administered through this session, `_` left out. */
  readonly realms: readonly string[]
  administers(realm: string): boolean
}

/**
 * Powers of a session, undefined when no admin stands behind it. A session in `_` has all powers of its admins; a
 * session in realm R has powers in R only, and only through admins that list R. A user of the same name in another
 * realm is nobody.
 */
export async function powersOf(db: Database, session: Session): Promise<Powers | undefined> {
  const realms = new Set<string>()
  for (const listed of (await adminsBehind(db, session)).values()) {
    if (session.realm === superRealm) for (const realm of listed) realms.add(realm)
    else if (listed.includes(session.realm)) realms.add(session.realm)
  }
  if (realms.size === 0 || !(await nameIsCertain(db, session))) return undefined
  const isSuper = realms.has(superRealm)
  return {
    isSuper,
    realms: [...realms].filter((realm) => realm !== superRealm).sort(),
    administers: (realm) => isSuper || (realm !== superRealm && realms.has(realm)),
  }
}

/**
 * Whether an Admin's `jwt` can only mean this session's user. Of several identity providers any may be the first to
 * bring a name; powers go with it only for the provider that the realm lists first, or that was given the name.
 */
async function nameIsCertain(db: Database, { scheme, realm, username }: Session): Promise<boolean> {
  if (scheme !== 'jwt') return true
  const holder = await findSubject(db, realm, username)
  if (holder === undefined || holder.assigned) return holder !== undefined
  const settings = await findRealm(db, realm)
  return settings !== undefined && issuersOf(settings)[0] === holder.issuer
}

/**
 * Whether these powers cover an admin with these realms: a super admin's cover every one; a realm admin's cover who
 * administers only realms of theirs. Nobody but a super admin has to do with an empty list, or with `_`.
 */
export function covers(powers: Powers, realms: readonly string[]): boolean {
  return powers.isSuper || (realms.length > 0 && realms.every((realm) => powers.administers(realm)))
}

/** @throws failure('forbidden') */
export function requireCovered(powers: Powers, realms: readonly string[]): void {
  if (!covers(powers, realms)) throw failure('forbidden', 'This needs rights over every realm of that admin.')
}
