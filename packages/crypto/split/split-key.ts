import { randomBytes } from 'node:crypto'
import { refuse } from '../algorithms/failure.ts'
import {
  byteLength,
  joinInPrimeField,
  primeFor,
  splitInPrimeField,
  toBigInt,
  toBytes,
} from './prime-field.ts'
import {
  gf8,
  gf16,
  joinInBinaryField,
  type KeyPart,
  type SplitKeyMethod,
  splitInBinaryField,
} from './shamir.ts'

export interface SplitRequest {
  readonly method: SplitKeyMethod
  /** How many parts are made. */
  readonly parts: number
  /** Number of parts that restore the key; all of them for XOR. */
  readonly threshold: number
  /** PolynomialSharingPrimeField: the prime, a magnitude; undefined = one is chosen. */
  readonly primeFieldSize: Uint8Array | undefined
}

export interface SplitKey {
  readonly parts: readonly KeyPart[]
  /** The prime, of PolynomialSharingPrimeField. */
  readonly primeFieldSize: Buffer | undefined
}

/** All points of GF(2^8) except zero. More parts are not needed in practice, and each part is an object to store. */
export const maximumParts = 255
/** Bytes of a key that is split. */
const maximumSecret = 8192

/**
 * Multiplications of one request: parts × threshold × bytes. About a fifth of a second; 255 parts of a key of 64 bytes,
 * 40 of 20 of a private key.
 */
const maxWork = 2 ** 22

function requireBoundedWork(work: number): void {
  if (work > maxWork)
    throw refuse('too_much_work', 'Too many parts for a key of this length: use fewer parts.')
}

/**
 * Splits key material (KMIP 2.1 §13). Any `threshold` parts restore it, fewer reveal nothing about it.
 * @throws invalid_input for contradictory numbers, too_much_work for too much work
 */
export function splitSecret(
  secret: Uint8Array,
  { method, parts, threshold, primeFieldSize }: SplitRequest,
): SplitKey {
  if (secret.length === 0 || secret.length > maximumSecret)
    throw refuse('invalid_input', `Only keys of 1 to ${maximumSecret} bytes can be split.`)
  if (parts < 2 || parts > maximumParts)
    throw refuse('invalid_input', `SplitKeyParts must be 2 to ${maximumParts}.`)
  if (threshold < 2 || threshold > parts)
    throw refuse('invalid_input', 'SplitKeyThreshold must be 2 to SplitKeyParts.')
  if (primeFieldSize !== undefined && method !== 'PolynomialSharingPrimeField')
    throw refuse('invalid_input', `PrimeFieldSize has no meaning for ${method}.`)
  if (method !== 'XOR') requireBoundedWork(parts * threshold * secret.length)
  switch (method) {
    case 'XOR':
      if (threshold !== parts)
        throw refuse('invalid_input', 'XOR requires all parts: SplitKeyThreshold must equal SplitKeyParts.')
      return { parts: splitByXor(secret, parts), primeFieldSize: undefined }
    case 'PolynomialSharingGF28':
      return { parts: splitInBinaryField(gf8, secret, parts, threshold), primeFieldSize: undefined }
    case 'PolynomialSharingGF216':
      if (secret.length % 2 !== 0) throw refuse('invalid_input', 'GF(2^16) requires an even number of bytes.')
      return { parts: splitInBinaryField(gf16, secret, parts, threshold), primeFieldSize: undefined }
    case 'PolynomialSharingPrimeField': {
      const prime = primeFor(secret.length, primeFieldSize)
      return {
        parts: splitInPrimeField(secret, parts, threshold, prime),
        primeFieldSize: toBytes(prime, byteLength(prime)),
      }
    }
  }
}

export interface JoinRequest {
  readonly method: SplitKeyMethod
  readonly threshold: number
  readonly parts: readonly KeyPart[]
  readonly primeFieldSize: Uint8Array | undefined
  /** Bytes of the key, which a number in a prime field does not contain (leading zeros); undefined = the minimum. */
  readonly length: number | undefined
}

/**
 * Joins parts; parts beyond the threshold are checked against the others.
 * @throws invalid_input for repeated parts, failed for too few and for parts that do not belong together
 */
export function joinParts({ method, threshold, parts, primeFieldSize, length }: JoinRequest): Buffer {
  if (parts.length < threshold || threshold < 2)
    throw refuse('wrong_key', `${threshold} parts are needed to join the key.`)
  if (parts.length > maximumParts)
    throw refuse('invalid_input', `At most ${maximumParts} parts can be joined.`)
  const identifiers = new Set(parts.map(({ identifier }) => identifier))
  if (identifiers.size !== parts.length) throw refuse('invalid_input', 'The same part is given twice.')
  const most = method === 'PolynomialSharingGF28' ? 0xff : 0xffff
  if (parts.some(({ identifier }) => !Number.isInteger(identifier) || identifier < 1 || identifier > most))
    throw refuse('invalid_input', 'KeyPartIdentifier is out of range.')
  const bytes = parts[0]?.bytes.length ?? 0
  if (bytes === 0 || parts.some((part) => part.bytes.length !== bytes))
    throw refuse('invalid_input', 'The parts have different lengths.')
  if (method !== 'XOR') requireBoundedWork((parts.length - threshold + 1) * threshold * (threshold + bytes))
  switch (method) {
    case 'XOR': {
      if (parts.length !== threshold) throw refuse('invalid_input', 'XOR requires every part exactly once.')
      const joined = Buffer.alloc(bytes)
      for (const part of parts) xorInto(joined, part.bytes)
      return joined
    }
    case 'PolynomialSharingGF28':
      return joinInBinaryField(gf8, parts, threshold)
    case 'PolynomialSharingGF216':
      if (bytes % 2 !== 0) throw refuse('invalid_input', 'GF(2^16) requires an even number of bytes.')
      return joinInBinaryField(gf16, parts, threshold)
    case 'PolynomialSharingPrimeField':
      if (primeFieldSize === undefined) throw refuse('invalid_input', 'PrimeFieldSize is missing.')
      return joinInPrimeField(parts, threshold, toBigInt(primeFieldSize), length)
  }
}

function splitByXor(secret: Uint8Array, count: number): KeyPart[] {
  const last = Buffer.from(secret)
  const parts: KeyPart[] = []
  for (let identifier = 1; identifier < count; identifier += 1) {
    const bytes = randomBytes(secret.length)
    xorInto(last, bytes)
    parts.push({ identifier, bytes })
  }
  return [...parts, { identifier: count, bytes: last }]
}

function xorInto(target: Buffer, other: Uint8Array): void {
  for (let at = 0; at < target.length; at += 1) target[at] = (target[at] as number) ^ (other[at] as number)
}
