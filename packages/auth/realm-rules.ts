import { failure } from '@warder/base'
import type { Change, Database } from '@warder/storage'
import { countSuperAdmins, findSuperCredentials } from './admins/admin-store.ts'
import { realmMachinesEnd } from './machines/token-store.ts'
import { type MethodServices, methods } from './methods/methods.ts'
import { realmPersonsEnd } from './person-store.ts'
import type { RealmRules } from './realms/operations.ts'
import { type Realm, superRealm } from './realms/realm.ts'
import { announceRealmCredentials } from './revocations/feed-store.ts'
import type { Session } from './sessions/session.ts'
import { realmSessionsEnd } from './sessions/session-end-store.ts'

/** Rules of realms, collected from the table of login methods. */
export const realmRules: RealmRules<MethodServices> = {
  members: methods.map(({ settings }) => settings),

  /** At least one administrator of `_` can still log in; the administrators are counted at this moment. */
  async guardsOf(services, before, realm) {
    for (const method of methods) await method.checkChange?.(services, before, realm)
    if (realm.id !== superRealm) return []
    const { oneFewer } = await countSuperAdmins(services.db)
    const held = await findSuperCredentials(services.db)
    const open = methods.some(({ name, opens }) => held.has(name) && opens?.(services, realm) === true)
    if (open) return [oneFewer]
    throw failure('conflict', 'With these auth_params, no super administrator could log in.')
  },

  endingsOf(services, before, after) {
    const endings = methods.flatMap((method) => method.endings?.(services, before, after) ?? [])
    return {
      sessions: endings.flatMap(({ sessions }) => sessions),
      others: [...endings.flatMap(({ others }) => others), ...announceMethodChanges(services, before, after)],
    }
  },

  creationOf: (services, realm) => announceMethodChanges(services, undefined, realm),

  deletionOf({ db, now }, realm) {
    const at = now()
    return [
      ...realmPersonsEnd(db, realm, at),
      ...realmMachinesEnd(db, realm, at),
      ...realmSessionsEnd(db, realm, { at, reason: 'realm_deleted' }),
    ]
  },
}

/**
 * Feed entries for a realm whose identity provider, SAML metadata or certificate names change: its names may
 * identify other users.
 */
function announceMethodChanges(
  { db, now }: Pick<MethodServices, 'db' | 'now'>,
  before: Realm | undefined,
  after: Realm,
): readonly Change[] {
  const formatMember = (realm: Realm | undefined, member: string): string =>
    JSON.stringify(realm?.auth_params[member] ?? null)
  const isOther = methods.some(
    ({ vouches, settings: { member } }) =>
      vouches === true && formatMember(before, member) !== formatMember(after, member),
  )
  return isOther ? announceRealmCredentials(db, after.id, now()) : []
}

/**
 * Whether an Admin that names the user of this session can only mean this user. Always false for a scheme without a
 * method.
 */
export async function nameIsCertain(db: Database, session: Session): Promise<boolean> {
  const method = methods.find(({ scheme }) => scheme === session.scheme)
  if (method === undefined) return false
  return method.nameIsCertain === undefined || method.nameIsCertain(db, session)
}
