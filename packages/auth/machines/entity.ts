import { superRealm } from '../realms/index.ts'

/**
 * Who a machine's token is to others. Whoever administers a realm makes its roles and says whose key sets they trust: so
 * what comes from another realm than the first carries the realm before it, and is nobody else's namesake.
 */
export const entityNames = {
  /** `name`, or `realm/approle:name`: an account of an orchestrator has no colon in its name. */
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
