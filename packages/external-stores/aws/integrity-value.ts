import { hash } from 'node:crypto'

/** Parts covered by an integrity value, in order. */
export interface CoveredParts {
  readonly aad: Uint8Array
  readonly metadata: Uint8Array
  readonly iv: Uint8Array
  readonly ciphertext: Uint8Array
  readonly tag: Uint8Array
}

/** The ciphertext data integrity value in Base64 (XKS Proxy API, appendix C). */
export function integrityValue({ aad, metadata, iv, ciphertext, tag }: CoveredParts): string {
  return hash('sha256', Buffer.concat([aad, metadata, iv, ciphertext, tag]), 'base64')
}
