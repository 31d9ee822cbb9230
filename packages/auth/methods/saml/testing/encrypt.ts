import { constants, createCipheriv, createPublicKey, publicEncrypt, randomBytes } from 'node:crypto'
import { namespaces } from '../xml.ts'

const xmlenc = namespaces.encryption
const xmlenc11 = namespaces.encryption11

export interface EncryptOptions {
  /** PEM of who is to read it. */
  readonly certificate: string
  /** Default AES-256-GCM. */
  readonly content?: string
  /** Default RSA-OAEP with SHA-1 and MGF1 with SHA-1, as most identity providers do. */
  readonly transport?: string
  readonly oaepHash?: 'sha1' | 'sha256'
  /** Default: the digest of `oaepHash`. */
  readonly method?: string
  readonly padding?: number
  readonly damage?: (bytes: Buffer) => Buffer
  /** How often the EncryptedKey is there. */
  readonly keys?: number
}

/** An EncryptedAssertion around a text (XML Encryption 1.1). */
export function encryptAssertion(plain: string, options: EncryptOptions): string {
  const { certificate, oaepHash = 'sha1', content = `${xmlenc11}aes256-gcm` } = options
  const key = randomBytes(32)
  const data = content.endsWith('-cbc') ? cbc(key, plain) : gcm(key, plain)
  const padding = options.padding ?? constants.RSA_PKCS1_OAEP_PADDING
  const encryptedKey = publicEncrypt({ key: createPublicKey(certificate), padding, oaepHash }, key)
  const usual = oaepHash === 'sha1' ? `${xmlenc}rsa-oaep-mgf1p` : `${xmlenc11}rsa-oaep`
  const inside =
    options.method ??
    (oaepHash === 'sha1'
      ? ''
      : `<ds:DigestMethod Algorithm="${xmlenc}sha256"/><xenc11:MGF Algorithm="${xmlenc11}mgf1sha256"/>`)
  const keyElement = `<xenc:EncryptedKey><xenc:EncryptionMethod Algorithm="${options.transport ?? usual}">${inside}</xenc:EncryptionMethod><xenc:CipherData><xenc:CipherValue>${encryptedKey.toString('base64')}</xenc:CipherValue></xenc:CipherData></xenc:EncryptedKey>`
  const bytes = options.damage?.(data) ?? data
  return `<saml:EncryptedAssertion xmlns:saml="${namespaces.assertion}"><xenc:EncryptedData xmlns:xenc="${xmlenc}" xmlns:xenc11="${xmlenc11}" xmlns:ds="${namespaces.signature}" Type="${xmlenc}Element"><xenc:EncryptionMethod Algorithm="${content}"/><ds:KeyInfo>${keyElement.repeat(options.keys ?? 1)}</ds:KeyInfo><xenc:CipherData><xenc:CipherValue>${bytes.toString('base64')}</xenc:CipherValue></xenc:CipherData></xenc:EncryptedData></saml:EncryptedAssertion>`
}

function gcm(key: Buffer, plain: string): Buffer {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

function cbc(key: Buffer, plain: string): Buffer {
  const iv = randomBytes(16)
  const cipher = createCipheriv('aes-256-cbc', key, iv)
  return Buffer.concat([iv, cipher.update(plain), cipher.final()])
}
