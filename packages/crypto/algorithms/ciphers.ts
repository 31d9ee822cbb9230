import { hashes } from './hashes.ts'
import { hmacHash } from './macs.ts'

/** The modes of one block cipher in OpenSSL. */
interface Family {
  /** JOSE's names of GCM with a 96-bit IV and a 128-bit tag, by the size of the key in bytes (RFC 7518 §5.3). */
  readonly jose?: Readonly<Record<number, string>>
  readonly prefix: Readonly<Record<number, string>>
  readonly block: 8 | 16
  readonly fips: boolean
  readonly modes: ReadonlySet<string>
}

const blockModes = ['ECB', 'CBC', 'CFB', 'OFB', 'CTR'] as const

/**
 * The table of ciphers: key sizes in bytes and OpenSSL's names. A new block cipher is a row here; a new mode is a case in
 * `cipher/cipher-plan.ts`.
 */
export const families: Readonly<Record<string, Family>> = {
  __proto__: null as never,
  AES: {
    prefix: { 16: 'aes-128', 24: 'aes-192', 32: 'aes-256', 64: '' },
    jose: { 16: 'A128GCM', 24: 'A192GCM', 32: 'A256GCM' },
    block: 16,
    fips: true,
    modes: new Set([
      ...blockModes,
      'CCM',
      'GCM',
      'GCM_SIV',
      'XTS',
      'AESKeyWrapPadding',
      'NISTKeyWrap',
      'LegacyNISTKeyWrap',
    ]),
  },
  DES3: {
    prefix: { 16: 'des-ede', 24: 'des-ede3' },
    block: 8,
    fips: false,
    modes: new Set(['ECB', 'CBC', 'CFB', 'OFB']),
  },
  Camellia: {
    prefix: { 16: 'camellia-128', 24: 'camellia-192', 32: 'camellia-256' },
    block: 16,
    fips: false,
    modes: new Set(blockModes),
  },
  ARIA: {
    prefix: { 16: 'aria-128', 24: 'aria-192', 32: 'aria-256' },
    block: 16,
    fips: false,
    modes: new Set([...blockModes, 'CCM', 'GCM']),
  },
  SM4: {
    prefix: { 16: 'sm4' },
    block: 16,
    fips: false,
    modes: new Set([...blockModes, 'CCM', 'GCM']),
  },
}

/** Paddings of whole blocks. `Zeros` can be removed only if the data does not end with a zero byte. */
export const paddings = ['None', 'PKCS5', 'ANSIX9_23', 'ISO10126', 'SSL3', 'Zeros'] as const
export type BlockPadding = (typeof paddings)[number]

/** JOSE's name of GCM with such a key; undefined if JOSE has none. */
export function joseGcm(algorithm: string, keyBytes: number): string | undefined {
  return families[algorithm]?.jose?.[keyBytes]
}

/** Is this an algorithm whose data is encrypted with a secret key? */
export function isCipher(algorithm: string): boolean {
  return algorithm in families || algorithm === 'ChaCha20' || algorithm === 'ChaCha20Poly1305'
}

/** Whether keys of a cipher or an HMAC may be used under FIPS 140-3 (SP 800-140C), by its name in KMIP. */
export function isFipsSymmetric(algorithm: string): boolean {
  const hash = hmacHash(algorithm)
  return (hash === undefined ? families[algorithm] : hashes.get(hash))?.fips === true
}
