import { isUuid } from '@warder/keys'
import { decodeBase64 } from './request.ts'

/** The form of a ciphertext: AES-256-GCM over the data as `joinAuthenticatedData` puts it, under the key in the path. */
const plain = Buffer.of(1)
/** The same, and 16 bytes follow: the UUID of the key or version that made it. */
const named = 2

/**
 * `ciphertextMetadata` of a ciphertext, which AWS KMS stores and returns (at most 20 bytes). It names the key if the
 * path does not: for aliases and for rotated keys.
 * @param externalKeyId the identifier in the path
 * @param keyId the key that encrypts
 */
export function metadataFor(externalKeyId: string, keyId: string): Buffer {
  if (externalKeyId === keyId || !isUuid(keyId)) return plain
  return Buffer.concat([Buffer.of(named), Buffer.from(keyId.replaceAll('-', ''), 'hex')])
}

/** The key that a ciphertext names; undefined: that of the path. */
export function keyNamedIn(metadata: string | undefined): string | undefined {
  const bytes = metadata === undefined ? undefined : decodeBase64(metadata)
  if (bytes?.length !== 17 || bytes[0] !== named) return undefined
  const hex = bytes.toString('hex', 1)
  return [8, 12, 16, 20, 32].map((end, index, ends) => hex.slice(ends[index - 1] ?? 0, end)).join('-')
}
