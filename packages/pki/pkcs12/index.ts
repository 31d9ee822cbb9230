/** PKCS#12 files (RFC 7292): one private key with its certificates under a password. Pure. */

export { isEncryptedPkcs8, openPkcs8 } from './encrypted-pkcs8.ts'
export type { Protection } from './encryption.ts'
export { type Pkcs12Content, readPkcs12 } from './read.ts'
export { writePkcs12 } from './write.ts'
