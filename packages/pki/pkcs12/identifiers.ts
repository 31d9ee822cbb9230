/** Object identifiers of PKCS#12 (RFC 7292), PKCS#5 (RFC 8018) and PKCS#7 (RFC 2315). */
export const oid = {
  data: '1.2.840.113549.1.7.1',
  encryptedData: '1.2.840.113549.1.7.6',
  keyBag: '1.2.840.113549.1.12.10.1.1',
  shroudedKeyBag: '1.2.840.113549.1.12.10.1.2',
  certificateBag: '1.2.840.113549.1.12.10.1.3',
  x509Certificate: '1.2.840.113549.1.9.22.1',
  friendlyName: '1.2.840.113549.1.9.20',
  localKeyId: '1.2.840.113549.1.9.21',
  pbes2: '1.2.840.113549.1.5.13',
  pbkdf2: '1.2.840.113549.1.5.12',
  sha1AndTripleDes: '1.2.840.113549.1.12.1.3',
} as const

export interface HashRow {
  readonly identifier: string
  /** The hash as the pseudo-random function of PBKDF2. */
  readonly prf: string
  /** OpenSSL's name. */
  readonly node: string
  readonly bytes: number
  /** Bytes of its blocks. */
  readonly block: number
}

export const hashes: readonly HashRow[] = [
  { identifier: '1.3.14.3.2.26', prf: '1.2.840.113549.2.7', node: 'sha1', bytes: 20, block: 64 },
  {
    identifier: '2.16.840.1.101.3.4.2.4',
    prf: '1.2.840.113549.2.8',
    node: 'sha224',
    bytes: 28,
    block: 64,
  },
  {
    identifier: '2.16.840.1.101.3.4.2.1',
    prf: '1.2.840.113549.2.9',
    node: 'sha256',
    bytes: 32,
    block: 64,
  },
  {
    identifier: '2.16.840.1.101.3.4.2.2',
    prf: '1.2.840.113549.2.10',
    node: 'sha384',
    bytes: 48,
    block: 128,
  },
  {
    identifier: '2.16.840.1.101.3.4.2.3',
    prf: '1.2.840.113549.2.11',
    node: 'sha512',
    bytes: 64,
    block: 128,
  },
]

export const sha1 = hashes[0] as HashRow
export const sha256 = hashes[2] as HashRow

export interface CipherRow {
  readonly identifier: string
  readonly node: string
  readonly keyBytes: number
  readonly ivBytes: number
}

/** Supported ciphers of PBES2. RC2, which protects certificates in old files, is not supported. */
export const ciphers: readonly CipherRow[] = [
  { identifier: '2.16.840.1.101.3.4.1.2', node: 'aes-128-cbc', keyBytes: 16, ivBytes: 16 },
  { identifier: '2.16.840.1.101.3.4.1.22', node: 'aes-192-cbc', keyBytes: 24, ivBytes: 16 },
  { identifier: '2.16.840.1.101.3.4.1.42', node: 'aes-256-cbc', keyBytes: 32, ivBytes: 16 },
  { identifier: '1.2.840.113549.3.7', node: 'des-ede3-cbc', keyBytes: 24, ivBytes: 8 },
]

export const aes256 = ciphers[2] as CipherRow
export const tripleDes = ciphers[3] as CipherRow
