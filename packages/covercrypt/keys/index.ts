/** Master keys, public keys and user keys: made, changed, refreshed, read and written. */
export * from './key-bytes.ts'
export * from './key-types.ts'
export * from './master-key.ts'
export * from './public-key.ts'
export * from './rotation.ts'
export * from './user-key.ts'
