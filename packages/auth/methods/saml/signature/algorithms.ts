import { createHash, type KeyObject, verify } from 'node:crypto'

/** Digests that a reference may have: SHA-256 and longer (XML Encryption §5.7, RFC 6931 §2.1). */
const digests: Readonly<Record<string, string>> = {
  'http://www.w3.org/2001/04/xmlenc#sha256': 'sha256',
  'http://www.w3.org/2001/04/xmldsig-more#sha384': 'sha384',
  'http://www.w3.org/2001/04/xmlenc#sha512': 'sha512',
}

interface SignatureAlgorithm {
  readonly keyType: 'rsa' | 'ec'
  readonly hash: string
}

const more = 'http://www.w3.org/2001/04/xmldsig-more#'

/** RFC 6931 §2.3. No SHA-1, no HMAC: a certificate is public, and would be the secret. */
const signatures: Readonly<Record<string, SignatureAlgorithm>> = {
  [`${more}rsa-sha256`]: { keyType: 'rsa', hash: 'sha256' },
  [`${more}rsa-sha384`]: { keyType: 'rsa', hash: 'sha384' },
  [`${more}rsa-sha512`]: { keyType: 'rsa', hash: 'sha512' },
  [`${more}ecdsa-sha256`]: { keyType: 'ec', hash: 'sha256' },
  [`${more}ecdsa-sha384`]: { keyType: 'ec', hash: 'sha384' },
  [`${more}ecdsa-sha512`]: { keyType: 'ec', hash: 'sha512' },
}

export const rsaSha256 = `${more}rsa-sha256`

export function digestHash(algorithm: string): string | undefined {
  return Object.hasOwn(digests, algorithm) ? digests[algorithm] : undefined
}

export function isSignatureAlgorithm(algorithm: string): boolean {
  return Object.hasOwn(signatures, algorithm)
}

/** @param hash of `digestHash` */
export function digestOf(hash: string, data: string): Buffer {
  return createHash(hash).update(data, 'utf8').digest()
}

/** Whether one of the keys has made the signature. A key only counts for algorithms of its own type. */
export function isSignedByOne(
  keys: readonly KeyObject[],
  algorithm: string,
  data: Uint8Array,
  signature: Uint8Array,
): boolean {
  const known = Object.hasOwn(signatures, algorithm) ? signatures[algorithm] : undefined
  if (known === undefined) return false
  return keys.some(
    (key) =>
      key.asymmetricKeyType === known.keyType &&
      verify(known.hash, data, { key, dsaEncoding: 'ieee-p1363' }, signature),
  )
}
