import { superRealm } from '../realms/realm-id.ts'

/**
 * Entities of machine tokens: their names for other services. A realm administrator creates roles and chooses the key
 * sets that they trust. Entities of all realms but `_` therefore start with the realm, so that they cannot equal an
 * entity of another realm.
 */
export const entityNames = {
  /** `name`, or `realm/approle:name`. The account names of orchestrators contain no colon. */
  appRole: (realm: string, name: string): string =>
    realm === superRealm ? name : `${realm}/approle:${name}`,
  /** `namespace/account`, or `realm/namespace/account`. */
  account: (realm: string, namespace: string, name: string): string =>
    realm === superRealm ? `${namespace}/${name}` : `${realm}/${namespace}/${name}`,
}

const roleOfRealm = /^([A-Za-z0-9-][A-Za-z0-9_-]{0,63}|_[A-Za-z0-9_-]{1,63})\/approle:([^/]+)$/

/** The role whose tokens have this entity; undefined for an account of an orchestrator. */
export function roleOfEntity(entity: string): { readonly realm: string; readonly name: string } | undefined {
  if (!entity.includes('/')) return { realm: superRealm, name: entity }
  const [, realm, name] = roleOfRealm.exec(entity) ?? []
  return realm === undefined || name === undefined ? undefined : { realm, name }
}
