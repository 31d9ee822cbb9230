import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { generateEc, generateRsa, generateSecret } from './generate.ts'
import type { KeySpec } from './key-request.ts'
import type { GeneratedKey } from './material.ts'

const generatePair = promisify(generateKeyPair)

/** A new key as the request asks for. Asymmetric ones are made on the thread pool. */
export async function generateKey(spec: KeySpec): Promise<GeneratedKey> {
  switch (spec.algorithm) {
    case 'AES':
    case 'HMAC':
      return generateSecret(spec.algorithm, spec.bits)
    case 'RSA':
      return generateRsa(spec.bits)
    case 'EC':
      return generateEc(spec.curve)
    case 'Ed25519': {
      const { privateKey, publicKey } = await generatePair('ed25519')
      return pair({ algorithm: 'Ed25519', bits: 256 } as const, privateKey, publicKey)
    }
    case 'ML-DSA-44': {
      const { privateKey, publicKey } = await generatePair('ml-dsa-44')
      // Bits of the public key (FIPS 204, table 2: 1312 bytes).
      return pair({ algorithm: 'ML-DSA-44', bits: 10_496 } as const, privateKey, publicKey)
    }
  }
}

function pair<Shape extends { readonly algorithm: 'Ed25519' | 'ML-DSA-44'; readonly bits: number }>(
  shape: Shape,
  privateKey: import('node:crypto').KeyObject,
  publicKey: import('node:crypto').KeyObject,
): GeneratedKey {
  return {
    private: { ...shape, kind: 'private', key: privateKey },
    public: { ...shape, kind: 'public', key: publicKey },
  }
}
