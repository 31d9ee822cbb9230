/** Attribute-based encryption (Covercrypt) with managed keys, off the event loop. Knows no protocol. */
export * from './actions.ts'
export { inFailures } from './failure.ts'
export type * from './jobs.ts'
export * from './managed-keys.ts'
export * from './new-objects.ts'
export { countItems, readFraming, sealRequest } from './request.ts'
export { abeThread } from './thread.ts'
export { listUserKeys, userKeysWithout } from './user-key-store.ts'
