import { createHash, createPrivateKey, createPublicKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { failure } from '@warder/base'
import { type CryptographicParameters, modulusBits } from '@warder/crypto'

/**
 * Names of Gmail's client, which are those of the Java Cryptography Architecture. OAEP uses one hash for the label and
 * the mask, as in S/MIME (RFC 4056, RFC 8017).
 */
const encryptions: Readonly<Record<string, CryptographicParameters>> = {
  'rsa/ecb/pkcs1padding': { paddingMethod: 'PKCS1V1_5' },
  'rsa/ecb/oaepwithsha-1andmgf1padding': oaep('SHA_1'),
  'rsa/ecb/oaepwithsha-256andmgf1padding': oaep('SHA_256'),
  'rsa/ecb/oaepwithsha-512andmgf1padding': oaep('SHA_512'),
}

function oaep(hashingAlgorithm: string): CryptographicParameters {
  return { paddingMethod: 'OAEP', hashingAlgorithm }
}

interface Signature {
  readonly parameters: CryptographicParameters
  /** Bytes of the digest that is signed. */
  readonly digestBytes: number
  readonly pss: boolean
}

const signatures: Readonly<Record<string, Signature>> = {
  ...pair('sha1', 'SHA_1', 20),
  ...pair('sha256', 'SHA_256', 32),
  ...pair('sha384', 'SHA_384', 48),
  ...pair('sha512', 'SHA_512', 64),
}

function pair(name: string, hashingAlgorithm: string, digestBytes: number): Record<string, Signature> {
  const signature = (paddingMethod: string): Signature => ({
    parameters: { paddingMethod, hashingAlgorithm },
    digestBytes,
    pss: paddingMethod === 'PSS',
  })
  return { [`${name}withrsa`]: signature('PKCS1V1_5'), [`${name}withrsa/pss`]: signature('PSS') }
}

/** @param label of OAEP; ignored for other paddings, as Google specifies. @throws failure('unsupported_algorithm') */
export function encryptionNamed(name: string, label: Uint8Array | undefined): CryptographicParameters {
  const parameters = requireEntry(encryptions, name)
  if (label === undefined || parameters.paddingMethod !== 'OAEP') return parameters
  return { ...parameters, pSource: label }
}

/** @param saltLength of PSS; ignored for other paddings, as Google specifies */
export function signatureNamed(name: string, saltLength: number | undefined): Signature {
  const signature = requireEntry(signatures, name)
  if (saltLength === undefined || !signature.pss) return signature
  return { ...signature, parameters: { ...signature.parameters, saltLength } }
}

function requireEntry<V>(table: Readonly<Record<string, V>>, name: string): V {
  const plain = name.toLowerCase()
  const found = Object.hasOwn(table, plain) ? table[plain] : undefined
  if (found === undefined) throw failure('unsupported_algorithm', 'algorithm: is not supported.')
  return found
}

/** Maximum length of a private key, in bytes: an RSA key of 8192 bits in PEM and base64. */
export const maxPrivateKeyBytes = 8192
const minModulusBits = 2048
const maxModulusBits = 8192

/**
 * Reads an RSA private key for S/MIME: PEM (PKCS#8 or PKCS#1), or either in DER or PEM and then base64. Google's
 * reference also shows PEM with literal `\n`.
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

/** Reads unwrapped bytes. @throws failure('internal_error') for bytes that are not a key */
export function openPrivateKey(bytes: Buffer): KeyObject {
  try {
    return createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' })
  } catch (cause) {
    throw failure('internal_error', 'a wrapped private key is not a key', { cause })
  }
}

/**
 * Requires the key that a token or a request names by the SHA-256 of its SubjectPublicKeyInfo, in base64.
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
