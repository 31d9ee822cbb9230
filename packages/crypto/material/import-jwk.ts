import { createPrivateKey, createPublicKey, createSecretKey, ECDH, type KeyObject } from 'node:crypto'
import { failure } from '@warder/base'
import {
  checkRsaNumbers,
  completeRsaNumbers,
  PkiError,
  type RsaNumbers,
  requirePrimes,
  rsaMembers,
} from '@warder/pki'
import {
  curves,
  type FixedKeyType,
  type KeyType,
  keyTypes,
  type MaterialAlgorithm,
} from '../algorithms/key-types.ts'
import { pureSignatures } from '../algorithms/signatures.ts'
import type { KeySpec } from './key-request.ts'
import type { KeyMaterial } from './material.ts'

const maxHmacKey = 4096

/** Members that each key type may have; any other is refused as a mistake instead of being stored. */
const membersByKeyType = {
  oct: ['k'],
  RSA: rsaMembers,
  EC: ['d', 'x', 'y'],
  OKP: ['d', 'x'],
  AKP: ['priv', 'pub'],
} as const satisfies Readonly<Record<KeyType, readonly string[]>>

/** Members that are material, of whichever type of key and half. */
export type MaterialMember = (typeof membersByKeyType)[KeyType][number]
export const materialMembers: readonly MaterialMember[] = [...new Set(Object.values(membersByKeyType).flat())]

/** Those of a signing key of kty AKP may have the names of kty OKP, too. */
function isMember(name: string, algorithm: MaterialAlgorithm): boolean {
  const { kty } = keyTypes[algorithm]
  const own: readonly string[] = membersByKeyType[kty]
  return own.includes(name) || (kty === 'AKP' && signs(algorithm) && ['d', 'x'].includes(name))
}

function signs(algorithm: MaterialAlgorithm): boolean {
  return pureSignatures.some(({ material }) => material === algorithm)
}

/** Decoded members of an import request. The caller wipes them. */
export type ImportMembers = { readonly [Member in MaterialMember]?: Uint8Array }

/**
 * Makes a key of given material after checking it whole: exact lengths, RSA numbers that belong together, an EC
 * scalar in range whose public point is computed and compared with the one given.
 *
 * `members` are read before it returns, so that the caller may wipe them at once.
 * @throws failure('bad_request') naming the member
 */
export async function importKey(spec: KeySpec, members: ImportMembers): Promise<KeyMaterial> {
  for (const [name, bytes] of Object.entries(members)) {
    if (bytes !== undefined && !isMember(name, spec.algorithm))
      throw failure('bad_request', `${name}: is not a member of this type of key`)
  }
  switch (spec.algorithm) {
    case 'AES':
    case 'HMAC':
      return importSecret(spec.algorithm, spec.bits, requireMember(members, 'k'))
    case 'RSA':
      return importRsa(members)
    case 'EC':
      return importEc(spec.curve, members)
    case 'Ed25519':
    case 'X25519':
      return importOkp(spec.algorithm, members)
    default:
      return importAkp(spec.algorithm, members)
  }
}

function requireMember(members: ImportMembers, name: MaterialMember): Uint8Array {
  const bytes = members[name]
  if (bytes === undefined) throw failure('bad_request', `${name}: is required to import this key`)
  return bytes
}

function importSecret(algorithm: 'AES' | 'HMAC', bits: number, k: Uint8Array): KeyMaterial {
  if (algorithm === 'AES' && k.length * 8 !== bits) {
    throw failure('bad_request', `k: must be ${bits / 8} bytes for this alg (got ${k.length})`)
  }
  if (algorithm === 'HMAC' && (k.length * 8 < bits || k.length > maxHmacKey)) {
    throw failure(
      'bad_request',
      `k: must be ${bits / 8} to ${maxHmacKey} bytes for this alg (got ${k.length})`,
    )
  }
  return { kind: 'secret', algorithm, bits: k.length * 8, key: createSecretKey(k) }
}

async function importRsa(members: ImportMembers): Promise<KeyMaterial> {
  try {
    const numbers = toRsaNumbers(members)
    const bits = checkRsaNumbers(numbers)
    const jwk = Object.fromEntries(rsaMembers.map((name) => [name, base64url(toBytes(numbers[name]))]))
    const key = parse({ kty: 'RSA', ...jwk }, 'n')
    // From here on `members` may be wiped.
    await requirePrimes(numbers)
    return { kind: 'private', algorithm: 'RSA', bits, key }
  } catch (error) {
    throw error instanceof PkiError ? failure('bad_request', error.message) : error
  }
}

/**
 * RFC 7518 §6.3.2: the members of the primes are either all present or all absent; absent ones are computed.
 * @throws failure('bad_request'), PkiError
 */
function toRsaNumbers(members: ImportMembers): RsaNumbers {
  const isShort = rsaMembers.slice(3).every((name) => members[name] === undefined)
  const names = isShort ? rsaMembers.slice(0, 3) : rsaMembers
  const given = Object.fromEntries(names.map((name) => [name, toNumber(name, requireMember(members, name))]))
  if (!isShort) return given as unknown as RsaNumbers
  const { n = 0n, e = 0n, d = 0n } = given
  if (e < 3n || e >= 1n << 64n) throw failure('bad_request', 'e: must be odd, at least 3 and below 2^64')
  return completeRsaNumbers({ n, e, d })
}

function toBytes(number: bigint): Buffer {
  const text = number.toString(16)
  return Buffer.from(text.length % 2 === 0 ? text : `0${text}`, 'hex')
}

function importEc(curve: string, members: ImportMembers): KeyMaterial {
  const parameters = curves[curve]
  if (parameters === undefined) throw failure('bad_request', 'crv: is not supported')
  const { name, bytes, bits } = parameters
  const d = requireMember(members, 'd')
  if (d.length !== bytes)
    throw failure('bad_request', `d: must be ${bytes} bytes for ${curve} (RFC 7518 §6.2.2.1)`)
  const point = publicPoint(name, d)
  for (const [member, at] of [
    ['x', 1],
    ['y', 1 + bytes],
  ] as const) {
    const given = members[member]
    if (given !== undefined && !point.subarray(at, at + bytes).equals(given)) {
      throw failure('bad_request', `${member}: does not match d`)
    }
  }
  const [x, y] = [point.subarray(1, 1 + bytes), point.subarray(1 + bytes)]
  const key = parse({ kty: 'EC', crv: curve, d: base64url(d), x: base64url(x), y: base64url(y) }, 'd')
  return { kind: 'private', algorithm: 'EC', bits, curve, key }
}

/** The uncompressed point d·G. @throws failure('bad_request') when d is 0 or not below the order */
function publicPoint(name: string, d: Uint8Array): Buffer {
  // Types of the runtime do not list the constructor's use without `createECDH`.
  const ecdh = new (ECDH as unknown as new (curve: string) => ECDH)(name)
  try {
    ecdh.setPrivateKey(d)
    return ecdh.getPublicKey(undefined, 'uncompressed') as unknown as Buffer
  } catch {
    throw failure('bad_request', 'd: is not a private scalar of the curve')
  }
}

function importOkp(algorithm: 'Ed25519' | 'X25519', members: ImportMembers): KeyMaterial {
  const d = requireMember(members, 'd')
  const { seedBytes } = keyTypes[algorithm]
  if (d.length !== seedBytes) throw failure('bad_request', `d: must be ${seedBytes} bytes for ${algorithm}`)
  const made = fromSeed(algorithm, d)
  const { x } = createPublicKey(made.key).export({ format: 'jwk' })
  if (members.x !== undefined && base64url(members.x) !== x)
    throw failure('bad_request', 'x: does not match d')
  return made
}

/** RFC 9964 calls the members `priv` and `pub`; a request with kty OKP may call them `d` and `x`. */
function importAkp(algorithm: FixedKeyType, members: ImportMembers): KeyMaterial {
  const seedName = members.priv === undefined ? 'd' : 'priv'
  if (members.priv !== undefined && members.d !== undefined)
    throw failure('bad_request', 'd: is redundant beside priv; omit it')
  const { seedBytes } = keyTypes[algorithm]
  const seed = requireMember(members, seedName)
  if (seed.length !== seedBytes)
    throw failure('bad_request', `${seedName}: must be the ${seedBytes} bytes of the seed`)
  const made = fromSeed(algorithm, seed)
  // A JWK of the private key would copy the seed into a string, which cannot be wiped.
  const { pub } = createPublicKey(made.key).export({ format: 'jwk' }) as { pub?: string }
  for (const name of ['pub', 'x'] as const) {
    const given = members[name]
    if (given !== undefined && base64url(given) !== pub)
      throw failure('bad_request', `${name}: does not match ${seedName}`)
  }
  return made
}

function fromSeed(algorithm: FixedKeyType, seed: Uint8Array): KeyMaterial {
  const { bits, seedPrefix } = keyTypes[algorithm]
  const der = Buffer.concat([Buffer.from(seedPrefix, 'hex'), seed])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  der.fill(0)
  return { kind: 'private', algorithm, bits, key }
}

function parse(jwk: Readonly<Record<string, string>>, member: string): KeyObject {
  try {
    return createPrivateKey({ key: jwk, format: 'jwk' })
  } catch {
    // The cause is dropped on purpose: a parser's message may quote its input.
    throw failure('bad_request', `${member}: is not a key of this type`)
  }
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url')
}

/** Unsigned, big-endian. Bounded: larger than any number of an 8192-bit key is refused before it is computed with. */
function toNumber(name: string, bytes: Uint8Array): bigint {
  if (bytes.length === 0 || bytes.length > 1040)
    throw failure('bad_request', `${name}: an RSA key must have 2048 to 8192 bits`)
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}
