export { foldAscii, foldEmail } from './email.ts'
export { type ExternalStoreRow, stopChanges } from './external-store-store.ts'
export {
  createKnownGrants,
  type Grantee,
  grantedToAny,
  granteeNamed,
  type KnownGrants,
  requireGrantedKey,
} from './granted-key.ts'
export {
  type ExternalStoreName,
  everyPrincipal,
  externalPrefix,
  externalPrincipal,
  externalStoreNames,
  isEveryPrincipal,
  isStoreItself,
  normalizeName,
  storeOfName,
} from './names.ts'
export { createStopSwitch, type StopSwitch } from './stop-switch.ts'
