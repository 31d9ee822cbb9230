import { failure } from '@warder/base'
import { adminsNamingSaml } from '../../admins/admin-store.ts'
import type { LoginMethod } from '../../login/method.ts'
import { providerPersonsEnd, providerPersonsMove } from '../../persons/person-store.ts'
import type { Realm } from '../../realms/realm.ts'
import type { EndingServices, RealmEndings } from '../../realms/realm-store.ts'
import { samlSessionsEnd } from '../../sessions/session-end-store.ts'
import { samlOperations } from './operations.ts'
import type { SamlServices } from './realm/services.ts'
import { type SamlSettings, samlSettings } from './settings/settings.ts'

/**
 * Finds the previous settings if user names no longer mean the same users: the realm has another identity provider or
 * none, or reads names from another attribute. undefined: users stay the same.
 */
function findReplacedSettings(before: Realm, after: Realm): SamlSettings | undefined {
  const [old, next] = [samlSettings.of(before), samlSettings.of(after)]
  const isSame =
    old?.idp_entity_id === next?.idp_entity_id && old?.subject_attribute === next?.subject_attribute
  return isSame ? undefined : old
}

const isContinued = (old: SamlSettings, next: SamlSettings | undefined): next is SamlSettings =>
  next?.predecessor_entity_ids?.includes(old.idp_entity_id) === true

function endings({ db, now }: EndingServices, before: Realm, after: Realm): RealmEndings {
  const old = findReplacedSettings(before, after)
  if (old === undefined) return { sessions: [], others: [] }
  const [next, at] = [samlSettings.of(after), now()]
  return {
    sessions: [samlSessionsEnd(db, before.id, { at, reason: 'provider_removed' })],
    others: isContinued(old, next)
      ? [providerPersonsMove(before.id, old.idp_entity_id, next.idp_entity_id)]
      : providerPersonsEnd(db, before.id, old.idp_entity_id, at),
  }
}

/** An Admin refers to a subject by its name, which must not come to mean another user. */
async function checkChange({ db }: SamlServices, before: Realm, after: Realm): Promise<void> {
  const old = findReplacedSettings(before, after)
  if (old === undefined || isContinued(old, samlSettings.of(after))) return
  const named = await adminsNamingSaml(db, before.id)
  if (named.length > 0)
    throw failure(
      'conflict',
      `Admins refer to users of the replaced identity provider (saml of ${named.join(', ')}).`,
    )
}

/** Single sign-on at a SAML 2.0 identity provider. */
export const saml: LoginMethod<SamlServices> = {
  name: 'saml',
  scheme: 'sa',
  settings: samlSettings,
  vouches: true,
  opens: (_services, realm) => samlSettings.of(realm) !== undefined,
  endings,
  checkChange,
  operations: () => samlOperations,
}
