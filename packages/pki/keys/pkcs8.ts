import {
  contextTag,
  type DerElement,
  derBitString,
  derBits,
  derContent,
  derIdentifier,
  derMembers,
  derNumber,
  derObjectIdentifier,
  derOctets,
  derSequence,
  derSmallNumber,
  derTag,
} from '../der.ts'
import { pkiError } from '../error.ts'

/** Contents of a PKCS#8 or SPKI structure; the key is still in the encoding of its algorithm. */
export interface WrappedKeyBytes {
  readonly identifier: string
  /** The complete element of the algorithm parameters. */
  readonly parameters: Uint8Array | undefined
  /** Contents of the OCTET STRING (PKCS#8) or the BIT STRING (SPKI). */
  readonly key: Uint8Array
  /** Optional public key of a PKCS#8 structure of version 2. */
  readonly publicKey?: Uint8Array
}

const privateKeyInfo = 'The PKCS#8 key'
const publicKeyInfo = 'The SubjectPublicKeyInfo'

/** RFC 5958 §2 OneAsymmetricKey. Attributes and public key are allowed. @throws PkiError */
export function parsePkcs8(bytes: Uint8Array): WrappedKeyBytes {
  const [version, algorithm, key, ...others] = derMembers(bytes, privateKeyInfo)
  if (algorithm?.tag === derTag.octetString || version?.tag === derTag.sequence)
    throw pkiError('malformed', 'An encrypted PKCS#8 key is not supported; send it wrapped instead.')
  if (derSmallNumber(version, privateKeyInfo) > 1)
    throw pkiError('malformed', 'The PKCS#8 key is of an unknown version.')
  if (others.some(({ tag }) => tag !== contextTag(0) && tag !== contextTag(1, false)))
    throw pkiError('malformed', 'The PKCS#8 key has an unknown member.')
  const half = others.find(({ tag }) => tag === contextTag(1, false))
  return {
    ...readAlgorithm(algorithm, privateKeyInfo),
    key: derContent(key, derTag.octetString, privateKeyInfo),
    // A BIT STRING with an implicit tag: the first byte is the number of unused bits.
    ...(half !== undefined && { publicKey: half.content.subarray(1) }),
  }
}

/** RFC 5280 §4.1 SubjectPublicKeyInfo. @throws PkiError */
export function parseSpki(bytes: Uint8Array): WrappedKeyBytes {
  const [algorithm, key, ...others] = derMembers(bytes, publicKeyInfo)
  if (others.length > 0) throw pkiError('malformed', 'The SubjectPublicKeyInfo has too many members.')
  return { ...readAlgorithm(algorithm, publicKeyInfo), key: derBits(key, publicKeyInfo) }
}

function readAlgorithm(element: DerElement | undefined, what: string) {
  const [identifier, parameters, ...others] = derMembers(element?.whole ?? new Uint8Array(), what)
  if (others.length > 0) throw pkiError('malformed', `${what} has a wrong algorithm.`)
  return { identifier: derIdentifier(identifier, what), parameters: parameters?.whole }
}

function algorithm(identifier: string, parameters: Uint8Array | undefined): Buffer {
  return derSequence(derObjectIdentifier(identifier), ...(parameters === undefined ? [] : [parameters]))
}

export function buildPkcs8({ identifier, parameters, key }: WrappedKeyBytes): Buffer {
  return derSequence(derNumber(0), algorithm(identifier, parameters), derOctets(key))
}

export function buildSpki({ identifier, parameters, key }: WrappedKeyBytes): Buffer {
  return derSequence(algorithm(identifier, parameters), derBitString(key))
}
