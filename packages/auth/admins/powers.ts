import { failure } from '@warder/foundation/errors'
import type { Database } from '@warder/foundation/sql'
import type { Powers } from '../callers/index.ts'
import { superRealm } from '../realms/index.ts'
import type { Session } from '../sessions/index.ts'
import { adminsBehind } from './admin-store.ts'

/**
 * Powers of a session, undefined when no admin stands behind it. A session in `_` has all powers of its admins; a
 * session in realm R has powers in R only, and only through admins that list R. A user of the same name in another
 * realm is nobody.
 * @param nameIsCertain whether the name of the session's user can mean nobody else in the realm
 */
export async function findPowers(
  db: Database,
  session: Session,
  nameIsCertain: (db: Database, session: Session) => Promise<boolean>,
): Promise<Powers | undefined> {
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
 * Whether these powers cover an admin with these realms: a super admin's cover every one; a realm admin's cover who
 * administers only realms of theirs. Nobody but a super admin has to do with an empty list, or with `_`.
 */
function covers(powers: Powers, realms: readonly string[]): boolean {
  return powers.isSuper || (realms.length > 0 && realms.every((realm) => powers.administers(realm)))
}

/** @throws failure('forbidden') */
export function requireCovered(powers: Powers, realms: readonly string[]): void {
  if (!covers(powers, realms)) throw failure('forbidden', 'This needs rights over every realm of that admin.')
}
