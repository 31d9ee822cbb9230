export { type ExternalStoreRow, stopChanges } from './external-store-store.ts'
export { createKnownGrants, grantedKey, grantedToAny, type KnownGrants } from './granted-key.ts'
export {
  type ExternalStoreName,
  externalPrefix,
  externalPrincipal,
  externalStoreNames,
  isStoreItself,
} from './names.ts'
export { createStopSwitch, type StopSwitch } from './stop-switch.ts'
