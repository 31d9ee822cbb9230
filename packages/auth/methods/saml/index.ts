import type { LoginMethod } from '../../login/index.ts'
import type { EndingServices, Realm, RealmEndings } from '../../realms/index.ts'
import { samlSessionsEnd } from '../../sessions/index.ts'
import { samlOperations } from './operations.ts'
import type { SamlServices } from './realm/services.ts'
import { samlSettings } from './settings/settings.ts'

export { configuredKeys } from './keys/configured-keys.ts'
export { configuredSpKeys, type SpKeys, storedSpKeys } from './keys/sp-keys.ts'
export type { SamlServices } from './realm/services.ts'
export { createVerification } from './thread/verification.ts'

/** Who logged in at another identity provider than the realm has now is somebody else. */
function endings({ db, now }: EndingServices, before: Realm, after: Realm): RealmEndings {
  const idp = (realm: Realm) => samlSettings.of(realm)?.idp_entity_id
  const stays = idp(before) === undefined || idp(before) === idp(after)
  const end = { at: now(), reason: 'provider_removed' } as const
  return { sessions: stays ? [] : [samlSessionsEnd(db, before.id, end)], others: [] }
}

/** Single sign-on at a SAML 2.0 identity provider. */
export const saml: LoginMethod<SamlServices> = {
  name: 'saml',
  scheme: 'sa',
  settings: samlSettings,
  opens: (_services, realm) => samlSettings.of(realm) !== undefined,
  endings,
  operations: () => samlOperations,
}
