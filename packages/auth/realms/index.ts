export {
  type AuthParams,
  type MethodSettings,
  methodSettings,
  nullable,
  type RealmMember,
} from './method-settings.ts'
export { maxSessionAgeSeconds, type Realm } from './realm.ts'
export { RealmId, RealmPath, RealmQuery, superRealm } from './realm-id.ts'
export {
  type EndingServices,
  findRealm,
  listRealms,
  type RealmEndings,
  realmExists,
  realmInsertion,
  realmOrThrow,
  realmUnchanged,
  replaceRealm,
} from './realm-store.ts'
