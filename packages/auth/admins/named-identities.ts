import type { Change, Database } from '@warder/foundation/sql'
import { superRealm } from '../realms/index.ts'
import { announceCredential, announceRealmCredentials } from '../revocations/index.ts'
import type { Admin } from './admin.ts'
import { isFingerprint } from './admin-store.ts'

type Named = Pick<Admin, 'realms' | 'userpass' | 'jwt' | 'saml' | 'client_certificate'>

/** Identity that an Admin names. `username` undefined: whatever name is in the certificate of this fingerprint. */
interface NamedIdentity {
  readonly realm: string
  readonly username: string | undefined
}

/** Identities that an Admin names, by what names them. The realm `_` lets each Admin in. */
function listNamedIdentities(admin: Named | undefined): ReadonlyMap<string, NamedIdentity> {
  const doors = new Map<string, NamedIdentity>()
  if (admin === undefined || admin.realms.length === 0) return doors
  const { userpass, jwt, saml, client_certificate: certificate } = admin
  for (const realm of new Set([superRealm, ...admin.realms]))
    for (const [member, name] of Object.entries({ userpass, jwt, saml, certificate })) {
      if (name === null) continue
      const isHidden = member === 'certificate' && isFingerprint(name)
      doors.set(JSON.stringify([realm, member, name]), { realm, username: isHidden ? undefined : name })
    }
  return doors
}

/** Tells those who follow of identities that an Admin names from now on, or names no longer. @param at Unix seconds */
export function announceIdentityChanges(
  db: Database,
  before: Named | undefined,
  after: Named | undefined,
  at: number,
): readonly Change[] {
  const [gone, added] = [listNamedIdentities(before), listNamedIdentities(after)]
  const changed = [
    ...[...gone].filter(([key]) => !added.has(key)),
    ...[...added].filter(([key]) => !gone.has(key)),
  ]
  // Usually one name stands in several members.
  const distinct = new Map(changed.map(([, door]) => [JSON.stringify([door.realm, door.username]), door]))
  return [...distinct.values()].flatMap(({ realm, username }) =>
    username === undefined
      ? announceRealmCredentials(db, realm, at)
      : announceCredential(db, realm, username, at),
  )
}
