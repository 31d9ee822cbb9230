import { failure } from '@warder/base'
import type { OperationContext } from '@warder/server'
import type { Realm } from '../../../realms/realm.ts'
import { findRealm } from '../../../realms/realm-store.ts'
import { type SamlSettings, samlSettings } from '../settings/settings.ts'
import type { SamlServices } from './services.ts'

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
