import { createHash, createPrivateKey, createPublicKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { failure } from '@warder/base'
import { modulusBits } from '@warder/keys'

/** Longest private key that is read, in bytes: an RSA key of 8192 bits in PEM and base64. */
export const maxPrivateKeyBytes = 8192
const minModulusBits = 2048
const maxModulusBits = 8192

/**
 * Reads an RSA private key for S/MIME: PEM (PKCS#8 or PKCS#1), or either in DER or PEM and then base64. Google's
 * reference shows PEM with `\n` written out, too.
 * @throws failure('bad_request')
 */
export function readPrivateKey(text: string): KeyObject {
  const written = text.replaceAll('\\n', '\n').trim()
  const key = written.startsWith('-----') ? fromPem(written) : fromBase64(written)
  if (key?.asymmetricKeyType !== 'rsa')
    throw failure('bad_request', 'private_key: is not an RSA private key in PEM, or in DER and base64.')
  const bits = modulusBits(key)
  if (bits < minModulusBits || bits > maxModulusBits)
    throw failure('bad_request', `private_key: must be RSA of ${minModulusBits} to ${maxModulusBits} bits.`)
  return key
}

function fromPem(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey({ key: pem, format: 'pem' })
  } catch {
    return undefined
  }
}

function fromBase64(text: string): KeyObject | undefined {
  const der = Buffer.from(text, 'base64')
  try {
    if (der.subarray(0, 5).toString('latin1') === '-----') return fromPem(der.toString('latin1'))
    for (const type of ['pkcs8', 'pkcs1'] as const) {
      try {
        return createPrivateKey({ key: der, format: 'der', type })
      } catch {}
    }
    return undefined
  } finally {
    der.fill(0)
  }
}

/** Bytes to wrap. The caller wipes them. */
export function privateKeyBytes(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'pkcs8' })
}

/** Reads unwrapped bytes. @throws failure('internal_error') for bytes that were never a key */
export function openPrivateKey(bytes: Buffer): KeyObject {
  try {
    return createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' })
  } catch (cause) {
    throw failure('internal_error', 'a wrapped private key is not a key', { cause })
  }
}

/**
 * Whether a key is the one that a token or a request names: by the SHA-256 of its SubjectPublicKeyInfo, in base64.
 * @throws failure('forbidden') when it is another
 */
export function requireSpkiHash(key: KeyObject, claimed: string | undefined): void {
  if (claimed === undefined) return
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
  const hash = createHash('sha256').update(spki).digest()
  const wanted = Buffer.from(claimed, 'base64')
  if (wanted.length !== hash.length || !timingSafeEqual(wanted, hash))
    throw failure('forbidden', 'The wrapped private key does not match spki_hash.')
}
