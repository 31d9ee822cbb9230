export { UnknownDataKey } from './errors.ts'
export { loadRootKeys, type RootKey, type RootKeySource } from './root-key.ts'
export {
  type RotateOptions,
  requireRootKeyFile,
  rotateRootKey,
  rotateRootKeyFile,
  type SealedDatabase,
} from './rotate.ts'
export { createWrongRootKeyError, isUnsealed, type OpenSealOptions, openSeal } from './seal.ts'
export { sealMigrations } from './seal-store.ts'
export { openSealToRead } from './seal-to-read.ts'
export type * from './types.ts'
