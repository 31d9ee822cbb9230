export { sentByBrowser } from './browser.ts'
export { operationsInScope } from './scope.ts'
export type { CommonConfig, ExternalEnvironment, ExternalStore } from './store.ts'
export { recordVendor, type VendorRequest } from './vendor-audit.ts'
