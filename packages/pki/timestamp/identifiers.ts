export const sha256Identifier = '2.16.840.1.101.3.4.2.1'

/** Digests of a CMS signer (RFC 5754 §2); SHA-1 and MD5 are not accepted. */
export const digests: ReadonlyMap<string, 'sha256' | 'sha384' | 'sha512'> = new Map([
  [sha256Identifier, 'sha256'],
  ['2.16.840.1.101.3.4.2.2', 'sha384'],
  ['2.16.840.1.101.3.4.2.3', 'sha512'],
])

/** Signature algorithms with a separate digest (RFC 3370 §3.2, RFC 5754 §3.2), by their X.509 names. */
export const rsaWith = {
  sha256: '1.2.840.113549.1.1.11',
  sha384: '1.2.840.113549.1.1.12',
  sha512: '1.2.840.113549.1.1.13',
} as const

export const identifiers = {
  signedData: '1.2.840.113549.1.7.2',
  tstInfo: '1.2.840.113549.1.9.16.1.4',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  signingCertificate: '1.2.840.113549.1.9.16.2.12',
  signingCertificateV2: '1.2.840.113549.1.9.16.2.47',
  rsaEncryption: '1.2.840.113549.1.1.1',
} as const
