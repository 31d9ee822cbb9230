export type { AuthSettings, TotpAlgorithm } from './auth-params.ts'
export { requireHttps } from './auth-params.ts'
export { issuersOf, longestAge, type Realm, RealmInput, RealmReply, readRealm } from './realm.ts'
export { RealmId, RealmPath, RealmQuery, superRealm } from './realm-id.ts'
export {
  findRealm,
  insertRealm,
  listRealms,
  realmExists,
  realmInsertion,
  realmOrThrow,
  realmUnchanged,
  removeRealm,
  replaceRealm,
} from './realm-store.ts'
