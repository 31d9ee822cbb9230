export {
  describeExternalOperations,
  type ExternalConfig,
  enableStores,
  externalOperations,
  externalSecuritySchemes,
} from './external-operations.ts'
export { checkGoogleSettings } from './google/scope/scope.ts'
export type { ExternalServices, ExternalStoreServices } from './scope/services.ts'
export type { ExternalEnvironment } from './scope/store.ts'
export {
  externalHosts,
  externalPartners,
  externalSettings,
  refuseHalfStores,
  reserveSigners,
} from './settings.ts'
export {
  type AccessKeyRow,
  insertAccessKey,
  listAccessKeys,
  maxAccessKeys,
  removeAccessKey,
  useBeyond,
} from './stores/aws/access-key-store.ts'
export { newAccessKey, regionProblem, uriPrefixProblem } from './stores/aws/access-keys.ts'
export { endOfAccessKey } from './stores/aws/maker.ts'
export { algorithm, canonicalRequest, signCanonicalRequest, signingKey } from './stores/aws/sigv4.ts'
export { readStorePath, type XksStore } from './stores/aws/store-names.ts'
export { stopChanges } from './stores/external-store-store.ts'
export { createKnownGrants } from './stores/granted-key.ts'
export { createStopSwitch } from './stores/stop-switch.ts'
