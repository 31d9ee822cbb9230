import { firstProof, type LoginMethod } from '../../login/method.ts'
import { credentialChanged, LoginRefused, methodNotEnabled, unknownRealm } from '../../login/refusal.ts'
import { issuerPersonsEnd } from '../../persons/person-store.ts'
import type { Realm } from '../../realms/realm.ts'
import {
  type EndingServices,
  findRealm,
  type RealmEndings,
  realmExists,
  realmUnchanged,
} from '../../realms/realm-store.ts'
import { issuerSessionsEnd } from '../../sessions/session-end-store.ts'
import { checkNewUsername, isNewUsername } from '../../texts/username.ts'
import { type JwtServices, subjectOperations } from './operations.ts'
import { jwtSettings, listIssuers } from './settings.ts'
import { findSubject, issuerSubjectsRemoval, subjectClaim } from './subject-store.ts'

const anotherProvider = () => new LoginRefused('subject_of_another_provider')

/**
 * Proves a login by the token of an `Authorization: Bearer` header. The name must belong to the provider of the token
 * in the realm, or be free.
 */
const tokenProof = firstProof<JwtServices, 'bearer'>({
  takes: 'bearer',
  async prove(context, { realm, credential }) {
    const { db, providers, now } = context.services
    if (realm === undefined) throw unknownRealm()
    const settings = jwtSettings.of(realm)
    if (settings === undefined) throw methodNotEnabled()
    const found = await providers.verifySubject(settings, credential.token)
    if (found === undefined || !isNewUsername(found.subject)) throw new LoginRefused('invalid_token')
    const { subject: username, issuer } = found
    context.audit({ details: { issuer } })
    const holder = await findSubject(db, realm.id, username)
    if (holder !== undefined && holder.issuer !== issuer) {
      context.audit({ object: username })
      throw anotherProvider()
    }
    const claim = subjectClaim({ realm: realm.id, subject: username, issuer, createdAt: now() })
    return {
      realm,
      subject: { username, scheme: 'jwt', certificateSha256: undefined, roles: [], extraClaims: undefined },
      proofs: [
        { holds: realmUnchanged(realm), lost: credentialChanged },
        { holds: claim, lost: anotherProvider },
      ],
    }
  },
})

/** Removes the names and sessions of identity providers that a realm no longer lists. */
function endings({ db, now }: EndingServices, before: Realm, after: Realm): RealmEndings {
  const stay = new Set(listIssuers(after))
  const dropped = listIssuers(before).filter((issuer) => !stay.has(issuer))
  return {
    sessions: dropped.map((issuer) =>
      issuerSessionsEnd(db, before.id, issuer, { at: now(), reason: 'provider_removed' }),
    ),
    others: dropped.flatMap((issuer) => [
      ...issuerPersonsEnd(db, before.id, issuer, now()),
      issuerSubjectsRemoval(before.id, issuer),
    ]),
  }
}

/** A token of an identity provider that the realm lists. */
export const jwt: LoginMethod<JwtServices> = {
  name: 'jwt',
  scheme: 'jwt',
  settings: jwtSettings,
  vouches: true,
  first: tokenProof,
  opens: (_services, realm) => listIssuers(realm).length > 0,
  async user(_db, realm, username) {
    if (jwtSettings.of(realm) === undefined) return undefined
    checkNewUsername(username)
    return realmExists(realm.id)
  },
  endings,
  /**
   * With several identity providers, any of them may be the first to use a name. The name is certain only for the
   * provider that the realm lists first, or to which an administrator assigned the name.
   */
  async nameIsCertain(db, { realm: id, username }) {
    const holder = await findSubject(db, id, username)
    if (holder === undefined || holder.assigned) return holder !== undefined
    const realm = await findRealm(db, id)
    return realm !== undefined && listIssuers(realm)[0] === holder.issuer
  },
  operations: () => subjectOperations,
}
