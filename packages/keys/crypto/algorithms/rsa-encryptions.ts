import type { HashName } from './hashes.ts'

/** RSA-OAEP as JOSE has it (RFC 7518 §4.3): one hash for all, no label. KMIP chooses them apart (`rsa/rsa-encryption.ts`). */
export interface RsaEncryption {
  readonly jose: string
  readonly hash: OaepHash
}

export type OaepHash = Extract<HashName, 'SHA_1' | 'SHA_256'>

/** The table: a new hash of JOSE is a row here. */
export const rsaEncryptions: readonly RsaEncryption[] = [
  { jose: 'RSA-OAEP', hash: 'SHA_1' },
  { jose: 'RSA-OAEP-256', hash: 'SHA_256' },
]
