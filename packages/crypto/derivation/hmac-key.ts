import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { refuse } from '../algorithms/failure.ts'

/** Names the one purpose. Another text makes other keys, and HMACs that were made before are no longer verified. */
const purpose = 'warder transit hmac v1'
const bytes = 64

/**
 * The HMAC key that belongs to a secret or private key: HKDF-SHA-512 (RFC 5869) of its secret material. The input key
 * begins with the purpose: salt and info alone would not separate the key, because callers of DeriveKey (KMIP 2.1
 * §6.1.14) choose both of them for HKDF with the bare material (docs/adr/transit.md).
 * @throws CryptoFailure wrong_key
 */
export function deriveHmacKey(key: KeyObject): KeyObject {
  const secret = exportSecret(key)
  const input = Buffer.concat([Buffer.from(`${purpose}\0`), secret])
  const kind = key.type === 'secret' ? 'secret' : key.asymmetricKeyType
  const made = new Uint8Array(hkdfSync('sha512', input, purpose, `${purpose} ${kind}`, bytes))
  try {
    return createSecretKey(made)
  } finally {
    for (const part of [secret, input, made]) part.fill(0)
  }
}

/** The secret number or bytes: encodings around them (PKCS#8) may change with the library that writes them. */
function exportSecret(key: KeyObject): Buffer {
  if (key.type === 'secret') return key.export()
  const { d } = key.type === 'private' ? key.export({ format: 'jwk' }) : {}
  if (d === undefined) throw refuse('wrong_key', 'A key of this type has no associated HMAC key.')
  return Buffer.from(d, 'base64url')
}
