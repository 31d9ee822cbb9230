import { hash as digestOf } from 'node:crypto'
import { notSupported, refuse } from './failure.ts'
import { type CryptographicParameters, requireOnly } from './parameters.ts'
import { type AlgorithmPolicy, permit } from './policy.ts'

export interface HashAlgorithm {
  readonly name: HashName
  /** OpenSSL's name. */
  readonly node: string
  readonly bytes: number
  /** false: not in FIPS mode. */
  readonly fips: boolean
  /** false: too weak for new signatures in FIPS mode (SP 800-131A). */
  readonly signs: boolean
}

const row = <const Name extends string>(
  name: Name,
  node: string,
  bytes: number,
  signs = true,
  fips = true,
) => ({ name, node, bytes, signs, fips })

/** KMIP 2.1 §11.21, those that are done here. MD2, MD4, Tiger and Whirlpool are not. */
const rows = [
  row('MD5', 'md5', 16, false, false),
  row('RIPEMD_160', 'ripemd160', 20, false, false),
  row('SHA_1', 'sha1', 20, false),
  row('SHA_224', 'sha224', 28),
  row('SHA_256', 'sha256', 32),
  row('SHA_384', 'sha384', 48),
  row('SHA_512', 'sha512', 64),
  row('SHA_512_224', 'sha512-224', 28),
  row('SHA_512_256', 'sha512-256', 32),
  row('SHA3_224', 'sha3-224', 28),
  row('SHA3_256', 'sha3-256', 32),
  row('SHA3_384', 'sha3-384', 48),
  row('SHA3_512', 'sha3-512', 64),
]
export type HashName = (typeof rows)[number]['name']

export const hashes: ReadonlyMap<string, HashAlgorithm> = new Map(rows.map((each) => [each.name, each]))

/** @throws CryptoFailure unsupported for a hash that is not done here, or not in FIPS mode */
export function hashAlgorithm(name: string, policy: AlgorithmPolicy): HashAlgorithm {
  const found = hashes.get(name)
  if (found === undefined || (policy.fips && !found.fips))
    throw notSupported(`HashingAlgorithm ${name} is not supported.`)
  permit(policy, () => ({ hashes: name }))
  return found
}

/** As `hashAlgorithm`, for new signatures. */
export function signatureHash(name: string, policy: AlgorithmPolicy): HashAlgorithm {
  const found = hashAlgorithm(name, policy)
  if (policy.fips && !found.signs)
    throw notSupported(`Signatures with ${name} are not available in FIPS mode.`)
  return found
}

/** The hash whose digests are so long, of the SHA-2 family (SHA-1 for 20); undefined when there is none. */
export function hashOfLength(bytes: number): HashName | undefined {
  switch (bytes) {
    case 20:
      return 'SHA_1'
    case 28:
      return 'SHA_224'
    case 32:
      return 'SHA_256'
    case 48:
      return 'SHA_384'
    case 64:
      return 'SHA_512'
    default:
      return undefined
  }
}

const hashParameters = new Set(['hashingAlgorithm'] as const)

/**
 * The hash that an operation requests.
 * @throws invalid_input when it names none
 */
export function requireHash(parameters: CryptographicParameters, policy: AlgorithmPolicy): HashAlgorithm {
  requireOnly(parameters, 'a hash', hashParameters)
  const { hashingAlgorithm } = parameters
  if (hashingAlgorithm === undefined) throw refuse('invalid_input', 'HashingAlgorithm is missing.')
  return hashAlgorithm(hashingAlgorithm, policy)
}

/** The digest of `data`. */
export function digest(hash: HashAlgorithm, data: Uint8Array): Buffer {
  return digestOf(hash.node, data, 'buffer')
}
