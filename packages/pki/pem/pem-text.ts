import { createPrivateKey } from 'node:crypto'

/** Labels of RFC 7468 under which a file in DER is taken. */
export type PemLabel = 'CERTIFICATE' | 'CERTIFICATE REQUEST' | 'PUBLIC KEY'

/** A text as editors on Windows write it begins with U+FEFF, which is no part of it (Unicode 17 §23.8). */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

/** Whether bytes begin as the SEQUENCE that every structure of X.509 and every key is, and no text does. */
export function isDer(bytes: Uint8Array): boolean {
  const [tag, length = 0] = bytes
  return tag === 0x30 && (length >= 0x80 || length === bytes.length - 2)
}

/**
 * What a file holds, as PEM that OpenSSL reads: the blocks without the text before the first of them, which RFC 7468 §2
 * permits, or the PEM of a file that is DER.
 */
export function pemText(bytes: Uint8Array, label: PemLabel): string {
  return isDer(bytes) ? written(bytes, label) : fromFirstBlock(bytes)
}

/** The same of a private key, whose DER is PKCS#8, PKCS#1 or SEC1. Text that is no PEM stays as it is. */
export function privateKeyText(bytes: Uint8Array): string {
  if (!isDer(bytes)) return fromFirstBlock(bytes)
  const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (const type of ['pkcs8', 'pkcs1', 'sec1'] as const) {
    try {
      // PKCS#8 stays as it is, with the public key that it may have.
      if (type === 'pkcs8' && createPrivateKey({ key, format: 'der', type }))
        return written(bytes, 'PRIVATE KEY')
      return createPrivateKey({ key, format: 'der', type })
        .export({ format: 'pem', type: 'pkcs8' })
        .toString()
    } catch {
      // Another of the three forms, or an encrypted one.
    }
  }
  return written(bytes, 'ENCRYPTED PRIVATE KEY')
}

function fromFirstBlock(bytes: Uint8Array): string {
  const text = withoutByteOrderMark(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'),
  )
  const at = text.indexOf('-----BEGIN ')
  return at <= 0 ? text : text.slice(at)
}

function written(der: Uint8Array, label: string): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
