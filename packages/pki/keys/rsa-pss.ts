import { createPrivateKey, createPublicKey } from 'node:crypto'
import { pkiError } from '../error.ts'
import { requireOwnPublicHalf } from './asymmetric.ts'
import type { KeyPolicy, ParsedKey } from './key-algorithms.ts'
import { parsePkcs8, parseSpki } from './pkcs8.ts'
import { rsaPrivateFromPkcs1, rsaPublicFromPkcs1 } from './rsa.ts'

const pssIdentifier = '1.2.840.113549.1.1.10'

/** Algorithms of RFC 7518 §3.5 by the node:crypto name of their hash. */
const algorithms: Readonly<Record<string, string>> = { sha256: 'PS256', sha384: 'PS384', sha512: 'PS512' }

/** A key of id-RSASSA-PSS (RFC 4055 §1.2) as an RSA key that is bound to a single algorithm. */
export type PssKey = ParsedKey & { readonly boundAlg: string }

/** The parameters of a key of id-RSASSA-PSS in `asymmetricKeyDetails`. */
export interface PssParameters {
  readonly hashAlgorithm?: string
  readonly mgf1HashAlgorithm?: string
  readonly saltLength?: number
}

/**
 * Returns the only algorithm that the parameters of a key permit; undefined when they are absent and permit all.
 * @throws PkiError for parameters that match no algorithm of RFC 7518 §3.5
 */
export function pssAlgorithm(parameters: PssParameters): string | undefined {
  const { hashAlgorithm, mgf1HashAlgorithm, saltLength = 0 } = parameters
  if (hashAlgorithm === undefined) return undefined
  const alg = algorithms[hashAlgorithm]
  // The salt length in the parameters is a minimum; these algorithms use the length of the hash.
  if (
    alg !== undefined &&
    mgf1HashAlgorithm === hashAlgorithm &&
    saltLength <= Number(hashAlgorithm.slice(3)) / 8
  )
    return alg
  throw pkiError(
    'unsupported_key',
    `The parameters of RSASSA-PSS (${hashAlgorithm}, MGF1 with ${mgf1HashAlgorithm}, salt of ${saltLength} bytes) do not match PS256, PS384 or PS512.`,
  )
}

/** Reads the private key in a PKCS#8 structure of id-RSASSA-PSS; undefined for other algorithms. @throws PkiError */
export function pssPrivateFromPkcs8(bytes: Uint8Array, policy: KeyPolicy): PssKey | undefined {
  const { identifier, key } = parsePkcs8(bytes)
  if (identifier !== pssIdentifier) return undefined
  requireOwnPublicHalf(bytes)
  return { ...rsaPrivateFromPkcs1(key, policy), boundAlg: requireAlgorithm('private', bytes) }
}

/** Reads the public key in a SubjectPublicKeyInfo of id-RSASSA-PSS; undefined for other algorithms. @throws PkiError */
export function pssPublicFromSpki(bytes: Uint8Array, policy: KeyPolicy): PssKey | undefined {
  const { identifier, key } = parseSpki(bytes)
  if (identifier !== pssIdentifier) return undefined
  return { ...rsaPublicFromPkcs1(key, policy), boundAlg: requireAlgorithm('public', bytes) }
}

function requireAlgorithm(half: 'private' | 'public', bytes: Uint8Array): string {
  const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let parameters: PssParameters
  try {
    const loaded =
      half === 'private'
        ? createPrivateKey({ key, format: 'der', type: 'pkcs8' })
        : createPublicKey({ key, format: 'der', type: 'spki' })
    parameters = (loaded.asymmetricKeyDetails ?? {}) as PssParameters
  } catch {
    // The cause is dropped on purpose: a parser's message may quote its input.
    throw pkiError('invalid_key', 'The key cannot be loaded.')
  }
  const alg = pssAlgorithm(parameters)
  if (alg !== undefined) return alg
  throw pkiError(
    'unsupported_key',
    'The key permits RSASSA-PSS with any hash, but must be bound to one: register it with the hash in its parameters (RFC 4055 §3.1).',
  )
}
