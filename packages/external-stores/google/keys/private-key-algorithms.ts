import { failure } from '@warder/base'
import type { CryptographicParameters } from '@warder/keys'

/**
 * Names of Gmail's client, which are those of the Java Cryptography Architecture. OAEP takes one hash for the label and
 * the mask, as S/MIME has it (RFC 4056, RFC 8017).
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

/** @param label of OAEP; of other paddings it is ignored, as Google has it. @throws failure('unsupported_algorithm') */
export function encryptionNamed(name: string, label: Uint8Array | undefined): CryptographicParameters {
  const parameters = requireEntry(encryptions, name)
  if (label === undefined || parameters.paddingMethod !== 'OAEP') return parameters
  return { ...parameters, pSource: label }
}

/** @param saltLength of PSS; of other paddings it is ignored, as Google has it */
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
