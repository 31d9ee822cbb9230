export {
  type AccessKeyRow,
  insertAccessKey,
  listAccessKeys,
  maxAccessKeys,
  readStorePath,
  removeAccessKey,
  useBeyond,
  type XksStore,
} from './aws/access-key-store.ts'
export { endOfAccessKey, newAccessKey } from './aws/access-keys.ts'
export { regionProblem, uriPrefixProblem } from './aws/settings.ts'
export {
  describeExternalOperations,
  type ExternalConfig,
  enableStores,
  externalOperations,
  externalSecuritySchemes,
} from './external-operations.ts'
export { checkGoogleSettings } from './google/scope.ts'
export { stopChanges } from './scope/external-store-store.ts'
export { createKnownGrants } from './scope/granted-key.ts'
export type { ExternalEnvironment, ExternalServices, ExternalStoreServices } from './scope/scope.ts'
export { createStopSwitch } from './scope/stop-switch.ts'
