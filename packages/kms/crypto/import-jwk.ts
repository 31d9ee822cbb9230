import { createPrivateKey, createSecretKey, ECDH, type KeyObject } from 'node:crypto'
import { failure } from '@warder/foundation/errors'
import type { KeySpec } from './key-request.ts'
import type { KeyMaterial } from './material.ts'
import { checkRsaNumbers, type RsaNumbers } from './rsa-numbers.ts'

/** Decoded members of an import request. The caller wipes them. */
export type ImportMembers = Readonly<
  Partial<
    Record<'k' | 'd' | 'x' | 'y' | 'n' | 'e' | 'p' | 'q' | 'dp' | 'dq' | 'qi' | 'priv' | 'pub', Uint8Array>
  >
>

const longestHmacKey = 4096
const ed25519Bytes = 32
const mlDsaSeedBytes = 32
const curveParameters: Readonly<
  Record<string, { readonly name: string; readonly bytes: number; readonly bits: number }>
> = {
  'P-256': { name: 'prime256v1', bytes: 32, bits: 256 },
  'P-384': { name: 'secp384r1', bytes: 48, bits: 384 },
  'P-521': { name: 'secp521r1', bytes: 66, bits: 521 },
}

/**
 * Makes a key of given material after checking it whole: exact lengths, RSA numbers that belong together, an EC
 * scalar in range whose public point is computed and compared with the one given.
 * @throws failure('bad_request') naming the member
 */
export function importKey(spec: KeySpec, members: ImportMembers): KeyMaterial {
  switch (spec.algorithm) {
    case 'AES':
    case 'HMAC':
      return importSecret(spec.algorithm, spec.bits, required(members, 'k'))
    case 'RSA':
      return importRsa(members)
    case 'EC':
      return importEc(spec.curve, members)
    case 'Ed25519':
      return importEd25519(members)
    case 'ML-DSA-44':
      return importMlDsa(members)
  }
}

function required(members: ImportMembers, name: keyof ImportMembers): Uint8Array {
  const bytes = members[name]
  if (bytes === undefined) throw failure('bad_request', `${name}: is required to import this key`)
  return bytes
}

function importSecret(algorithm: 'AES' | 'HMAC', bits: number, k: Uint8Array): KeyMaterial {
  if (algorithm === 'AES' && k.length * 8 !== bits) {
    throw failure('bad_request', `k: must be ${bits / 8} bytes for this alg (got ${k.length})`)
  }
  if (algorithm === 'HMAC' && (k.length * 8 < bits || k.length > longestHmacKey)) {
    throw failure(
      'bad_request',
      `k: must be ${bits / 8} to ${longestHmacKey} bytes for this alg (got ${k.length})`,
    )
  }
  return { kind: 'secret', algorithm, bits: k.length * 8, key: createSecretKey(k) }
}

function importRsa(members: ImportMembers): KeyMaterial {
  const names = ['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'] as const
  const numbers: RsaNumbers = Object.fromEntries(
    names.map((name) => [name, toNumber(required(members, name))]),
  ) as never
  const bits = checkRsaNumbers(numbers)
  const jwk = Object.fromEntries(names.map((name) => [name, base64url(minimal(required(members, name)))]))
  return { kind: 'private', algorithm: 'RSA', bits, key: parse({ kty: 'RSA', ...jwk }, 'n') }
}

function importEc(curve: string, members: ImportMembers): KeyMaterial {
  const parameters = curveParameters[curve]
  if (parameters === undefined) throw failure('bad_request', 'crv: is not supported')
  const { name, bytes, bits } = parameters
  const d = required(members, 'd')
  if (d.length !== bytes)
    throw failure('bad_request', `d: must be ${bytes} bytes for ${curve} (RFC 7518 §6.2.2.1)`)
  const point = publicPoint(name, d)
  for (const [member, at] of [
    ['x', 1],
    ['y', 1 + bytes],
  ] as const) {
    const given = members[member]
    if (given !== undefined && !point.subarray(at, at + bytes).equals(given)) {
      throw failure('bad_request', `${member}: is not the public point of d`)
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

/** PKCS#8 (RFC 8410 §7) around the 32 bytes. */
const ed25519Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

function importEd25519(members: ImportMembers): KeyMaterial {
  const d = required(members, 'd')
  if (d.length !== ed25519Bytes) throw failure('bad_request', `d: must be ${ed25519Bytes} bytes for Ed25519`)
  const der = Buffer.concat([ed25519Prefix, d])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  der.fill(0)
  const { x } = key.export({ format: 'jwk' })
  if (members.x !== undefined && base64url(members.x) !== x)
    throw failure('bad_request', 'x: is not the public key of d')
  return { kind: 'private', algorithm: 'Ed25519', bits: 256, key }
}

/** PKCS#8 with the seed form of RFC 9881 §6: [0] IMPLICIT OCTET STRING (32 bytes). */
const mlDsa44Prefix = Buffer.from('3034020100300b060960864801650304031104228020', 'hex')

function importMlDsa(members: ImportMembers): KeyMaterial {
  const seed = members.priv ?? required(members, 'd')
  if (seed.length !== mlDsaSeedBytes)
    throw failure('bad_request', `priv: must be the ${mlDsaSeedBytes} bytes of the seed`)
  const der = Buffer.concat([mlDsa44Prefix, seed])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  der.fill(0)
  const { pub } = key.export({ format: 'jwk' }) as { pub?: string }
  if (members.pub !== undefined && base64url(members.pub) !== pub)
    throw failure('bad_request', 'pub: is not the public key of priv')
  return { kind: 'private', algorithm: 'ML-DSA-44', bits: 10_496, key }
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

function minimal(bytes: Uint8Array): Uint8Array {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1
  return bytes.subarray(start)
}

/** Unsigned, big-endian. Bounded: larger than any number of an 8192-bit key is refused before it is computed with. */
function toNumber(bytes: Uint8Array): bigint {
  if (bytes.length === 0 || bytes.length > 1040)
    throw failure('bad_request', 'n: an RSA key has 2048 to 8192 bits')
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}
