import { generateKeyPair, generateKeySync, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { failure } from '@warder/base'
import { curves } from '../algorithms/key-types.ts'
import { inGenerationQueue } from './generation-queue.ts'
import type { GeneratedKey, MaterialDescriptor } from './material.ts'

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
