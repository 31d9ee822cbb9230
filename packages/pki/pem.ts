import { createPrivateKey } from 'node:crypto'
import { pkiError } from './error.ts'

/** PEM labels (RFC 7468) for files in DER. */
export type PemLabel = 'CERTIFICATE' | 'CERTIFICATE REQUEST' | 'PUBLIC KEY'

/** Windows editors write U+FEFF at the beginning of a text; it is not part of it (Unicode 17 §23.8). */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

/** Whether the bytes start with a SEQUENCE, as every X.509 structure and key does; text never does. */
export function isDer(bytes: Uint8Array): boolean {
  const [tag, length = 0] = bytes
  return tag === 0x30 && (length >= 0x80 || length === bytes.length - 2)
}

/** Decodes base64 of DER in place of PEM; undefined for any other text. */
export function derInBase64(text: string): Buffer | undefined {
  const compact = withoutByteOrderMark(text).replaceAll(/\s/g, '')
  if (!/^[A-Za-z0-9+/]{4,}={0,2}$/.test(compact)) return undefined
  const bytes = Buffer.from(compact, 'base64')
  return isDer(bytes) ? bytes : undefined
}

/** Whether DER is a PFX (RFC 7292 §4): no other structure starts with version 3. */
function isPkcs12(der: Uint8Array): boolean {
  const length = der[1] ?? 0
  const start = length <= 0x80 ? 2 : 2 + (length & 0x7f)
  return [0x02, 0x01, 0x03, 0x30].every((byte, index) => der[start + index] === byte)
}

/** @throws PkiError for a PKCS#12 file */
function requireNoPkcs12(der: Uint8Array): void {
  if (isPkcs12(der))
    throw pkiError(
      'malformed',
      'It is a PKCS#12 file: convert it with `openssl pkcs12 -in FILE -nodes -out FILE.pem`, and use FILE.pem.',
    )
}

/**
 * Converts the contents of a file to PEM that OpenSSL reads: its blocks without the text before the first one, which
 * RFC 7468 §2 permits, or the PEM of a DER file.
 * @throws PkiError for a PKCS#12 file
 */
export function pemText(bytes: Uint8Array, label: PemLabel): string {
  if (!isDer(bytes)) return fromFirstBlock(bytes)
  requireNoPkcs12(bytes)
  return encodePem(bytes, label)
}

/**
 * The same for a private key, whose DER is PKCS#8, PKCS#1 or SEC1. Text that is not PEM is returned unchanged.
 * @throws PkiError for a PKCS#12 file
 */
export function privateKeyText(bytes: Uint8Array): string {
  if (!isDer(bytes)) return fromFirstBlock(bytes)
  requireNoPkcs12(bytes)
  const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (const type of ['pkcs8', 'pkcs1', 'sec1'] as const) {
    try {
      // PKCS#8 is kept unchanged, with its optional public key.
      if (type === 'pkcs8' && createPrivateKey({ key, format: 'der', type }))
        return encodePem(bytes, 'PRIVATE KEY')
      return createPrivateKey({ key, format: 'der', type })
        .export({ format: 'pem', type: 'pkcs8' })
        .toString()
    } catch {
      // One of the other formats, or an encrypted key.
    }
  }
  return encodePem(bytes, 'ENCRYPTED PRIVATE KEY')
}

function fromFirstBlock(bytes: Uint8Array): string {
  const text = withoutByteOrderMark(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'),
  )
  const at = text.indexOf('-----BEGIN ')
  return at <= 0 ? text : text.slice(at)
}

function encodePem(der: Uint8Array, label: string): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
