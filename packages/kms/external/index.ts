export { type ExternalStoreRow, stopChanges } from './external-store-store.ts'
export {
  createKnownGrants,
  type Grantee,
  grantedToAny,
  granteeNamed,
  type KnownGrants,
  requireGrantedKey,
} from './granted-key.ts'
export { createStopSwitch, type StopSwitch } from './stop-switch.ts'
