import { failure } from '@warder/base'
import type { createPeerSecretCheck, OperationContext } from '@warder/server'
import type { LoginServices } from '../../login/method.ts'
import type { Realm } from '../../realms/realm.ts'
import { findRealm } from '../../realms/realm-store.ts'
import type { PendingLimiter } from './pending-store.ts'
import { type SamlSettings, samlSettings } from './settings.ts'
import type { SpKeys } from './sp-keys.ts'
import type { Verification } from './verification.ts'

/** Services used by SAML, besides those of a login. */
export interface SamlServices extends LoginServices {
  readonly spKeys: SpKeys
  readonly samlVerification: Verification
  readonly samlPendingLimiter: PendingLimiter
  /** Whether a header contains the peer secret of the installation. */
  readonly isPeer: ReturnType<typeof createPeerSecretCheck>
}

/** A realm that has SAML. */
export interface SamlRealm {
  readonly realm: Realm
  readonly settings: SamlSettings
}

/** @throws failure('bad_request') */
export async function samlRealm(
  { services }: OperationContext<SamlServices>,
  id: string,
): Promise<SamlRealm> {
  const realm = await findRealm(services.db, id)
  const settings = realm && samlSettings.of(realm)
  if (realm === undefined || settings === undefined)
    throw failure('bad_request', `realm '${id}' does not exist or does not use SAML.`)
  return { realm, settings }
}
