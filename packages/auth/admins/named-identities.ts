import type { Change, Database } from '@warder/storage'
import { superRealm } from '../realms/realm-id.ts'
import { announceCredential, announceRealmCredentials } from '../revocations/feed-store.ts'
import type { Admin } from './admin.ts'
import { isFingerprint } from './admin-store.ts'

type Named = Pick<Admin, 'realms' | 'userpass' | 'jwt' | 'saml' | 'client_certificate'>

/**
 * An identity that an Admin names. `username` is undefined for a certificate fingerprint: the certificate may hold
 * any name.
 */
interface NamedIdentity {
  readonly realm: string
  readonly username: string | undefined
}

/**
 * Lists the identities that an Admin names, keyed by realm, member and name. Every Admin can also log in to the realm
 * `_`.
 */
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

/** Announces to the subscribers every identity that an Admin starts or stops naming. @param at Unix seconds */
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
  // Several members of an Admin often hold the same name.
  const distinct = new Map(changed.map(([, door]) => [JSON.stringify([door.realm, door.username]), door]))
  return [...distinct.values()].flatMap(({ realm, username }) =>
    username === undefined
      ? announceRealmCredentials(db, realm, at)
      : announceCredential(db, realm, username, at),
  )
}
