import { failure } from '@warder/base'
import type { Database } from '@warder/storage'
import type { Powers } from '../callers.ts'
import { superRealm } from '../realms/realm.ts'
import type { Session } from '../sessions/session.ts'
import { adminsBehind } from './admin-store.ts'

/**
 * Finds the powers of a session; undefined if the session belongs to no admin. A session in `_` has all
 * powers of its admins. A session in realm R has powers in R only, and only through admins that list R. A
 * user with the same name in another realm has no powers.
 * @param nameIsCertain whether the session's user name can only mean one user in the realm
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
 * Whether these powers cover an admin with these realms. A super admin covers every admin. A realm admin covers
 * admins whose realms are all their own. Only a super admin covers an empty list or `_`.
 */
function covers(powers: Powers, realms: readonly string[]): boolean {
  return powers.isSuper || (realms.length > 0 && realms.every((realm) => powers.administers(realm)))
}

/** @throws failure('forbidden') */
export function requireCovered(powers: Powers, realms: readonly string[]): void {
  if (!covers(powers, realms)) throw failure('forbidden', 'This needs rights over every realm of that admin.')
}
