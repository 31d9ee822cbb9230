export { type DescribedKey, toDescribedKey } from './described-key.ts'
export type { BackendKey, CipherParts, DerivationFromKey, KeyBackend } from './key-backend.ts'
export { softwareBackend, softwareKey } from './software.ts'
