import { generateKeyPair, generateKeySync, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { failure } from '@warder/base'
import { curves, keyTypes, slhDsaBits } from '../algorithms/key-types.ts'
import type { KeySpec } from './key-request.ts'
import type { GeneratedKey, MaterialDescriptor } from './material.ts'

/**
 * Max RSA pairs that a worker generates at the same time. The search for primes occupies a thread of the pool for up to
 * some seconds, and the signatures and decryptions of other requests wait for the same threads.
 */
const atOnce = 2
const maxWaiting = 64

let running = 0
const waiting: (() => void)[] = []

/** Pairs that wait or are being made. */
export const countUnfinishedGenerations = (): number => running + waiting.length

/**
 * Runs slow work on the thread pool, a few tasks at a time, in the order of the requests.
 * @throws failure('overloaded') when too many wait already
 */
export async function inGenerationQueue<R>(work: () => Promise<R>): Promise<R> {
  if (running >= atOnce) {
    if (waiting.length >= maxWaiting)
      throw failure('overloaded', 'too many keys are being generated', { retryAfterSeconds: 2 })
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
    })
  } else running++
  try {
    return await work()
  } finally {
    // First in, first out: the slot goes to the request that waits longest.
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }
}

const generatePair = promisify(generateKeyPair)

/** A random AES or HMAC key of exactly `bits` bits. */
export function generateSecret(algorithm: 'AES' | 'HMAC', bits: number): GeneratedKey {
  const allowed = algorithm === 'AES' ? [128, 192, 256] : [256, 384, 512]
  if (!allowed.includes(bits)) throw failure('bad_request', `A key for ${algorithm} cannot have this size.`)
  const key = generateKeySync(algorithm === 'AES' ? 'aes' : 'hmac', { length: bits })
  return { secret: { kind: 'secret', key, algorithm, bits } }
}

/** An RSA pair with e = 65537, made on the thread pool. `bits`: 2048 to 8192, a multiple of 8. */
export async function generateRsa(bits: number): Promise<GeneratedKey> {
  if (!Number.isInteger(bits) || bits < 2048 || bits > 8192 || bits % 8 !== 0)
    throw failure('bad_request', 'An RSA key must have 2048 to 8192 bits, in whole bytes.')
  const pair = await inGenerationQueue(() => generatePair('rsa', { modulusLength: bits }))
  return toKeyPair(pair, { algorithm: 'RSA', bits })
}

/** An EC pair on `P-256`, `P-384` or `P-521`. */
export async function generateEc(curve: string): Promise<GeneratedKey> {
  const bits = curves[curve]?.bits
  if (bits === undefined) throw failure('unsupported_algorithm', 'The curve is not supported.')
  return toKeyPair(await generatePair('ec', { namedCurve: curve }), { algorithm: 'EC', bits, curve })
}

function toKeyPair(
  pair: { readonly privateKey: KeyObject; readonly publicKey: KeyObject },
  shape: Omit<MaterialDescriptor, 'kind'>,
): GeneratedKey {
  return {
    private: { ...shape, kind: 'private', key: pair.privateKey },
    public: { ...shape, kind: 'public', key: pair.publicKey },
  }
}

/** Types of keys whose names node's declarations do not list yet. */
const generateNamedPair = generatePair as (
  type: string,
) => Promise<{ readonly privateKey: KeyObject; readonly publicKey: KeyObject }>

/** Generates the requested key. Asymmetric keys are generated on the thread pool. */
export async function generateKey(spec: KeySpec): Promise<GeneratedKey> {
  switch (spec.algorithm) {
    case 'AES':
    case 'HMAC':
      return generateSecret(spec.algorithm, spec.bits)
    case 'RSA':
      return generateRsa(spec.bits)
    case 'EC':
      return generateEc(spec.curve)
    default: {
      const { node, bits } = keyTypes[spec.algorithm]
      const { privateKey, publicKey } = await generateNamedPair(node)
      const shape = { algorithm: spec.algorithm, bits }
      return {
        private: { ...shape, kind: 'private', key: privateKey },
        public: { ...shape, kind: 'public', key: publicKey },
      }
    }
  }
}

/** Bits of a public key of SLH-DSA or ML-KEM by its name (RFC 9909, RFC 9935); undefined for any other. */
export function quantumSafeBits(name: string): number | undefined {
  const isKem = /^ML-KEM-(?:512|768|1024)$/.test(name)
  return isKem ? keyTypes[name as 'ML-KEM-512'].bits : slhDsaBits.get(name)
}

/** @param name one that `quantumSafeBits` knows */
export function generateQuantumSafe(
  name: string,
): Promise<{ readonly privateKey: KeyObject; readonly publicKey: KeyObject }> {
  return inGenerationQueue(() => generateNamedPair(name.toLowerCase()))
}
