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

export function isDigestAlgorithm(algorithm: string): boolean {
  return Object.hasOwn(digests, algorithm)
}

export function isSignatureAlgorithm(algorithm: string): boolean {
  return Object.hasOwn(signatures, algorithm)
}

/** Finds the first key that made the signature. A key is only tried for algorithms of its own type. */
export function signerAmong(
  keys: readonly KeyObject[],
  algorithm: string,
  data: Uint8Array,
  signature: Uint8Array,
): KeyObject | undefined {
  const known = Object.hasOwn(signatures, algorithm) ? signatures[algorithm] : undefined
  return known && keys.find((key) => isSignedBy(key, known, data, signature))
}

function isSignedBy(
  key: KeyObject,
  { keyType, hash }: SignatureAlgorithm,
  data: Uint8Array,
  signature: Uint8Array,
): boolean {
  return (
    key.asymmetricKeyType === keyType && verify(hash, data, { key, dsaEncoding: 'ieee-p1363' }, signature)
  )
}

/** Interface of a digest in `xml-crypto`. */
interface LibraryDigest {
  getAlgorithmName(): string
  /** @returns base64 */
  getHash(xml: string): string
}

/** Interface of a signature in `xml-crypto`. */
interface LibrarySignature {
  getAlgorithmName(): string
  /** @param value base64 */
  verifySignature(data: string, key: KeyObject, value: string): boolean
}

/** The digests above, for `SignedXml.HashAlgorithms`: by their URI, and no others. */
export const libraryDigests: Readonly<Record<string, new () => LibraryDigest>> = Object.fromEntries(
  Object.entries(digests).map(([uri, hash]) => [
    uri,
    class implements LibraryDigest {
      getAlgorithmName = (): string => uri
      getHash = (xml: string): string => createHash(hash).update(xml, 'utf8').digest('base64')
    },
  ]),
)

/** The signatures above, for `SignedXml.SignatureAlgorithms`: by their URI, and no others. */
export const librarySignatures: Readonly<Record<string, new () => LibrarySignature>> = Object.fromEntries(
  Object.entries(signatures).map(([uri, algorithm]) => [
    uri,
    class implements LibrarySignature {
      getAlgorithmName = (): string => uri
      verifySignature = (data: string, key: KeyObject, value: string): boolean =>
        isSignedBy(key, algorithm, Buffer.from(data), Buffer.from(value, 'base64'))
    },
  ]),
)
