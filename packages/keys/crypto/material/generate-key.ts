import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { keyTypes, slhDsaBits } from '../algorithms/key-types.ts'
import { generateEc, generateRsa, generateSecret } from './generate.ts'
import { inGenerationQueue } from './generation-queue.ts'
import type { KeySpec } from './key-request.ts'
import type { GeneratedKey } from './material.ts'

const generatePair = promisify(generateKeyPair) as (
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
      const { privateKey, publicKey } = await generatePair(node)
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
  return inGenerationQueue(() => generatePair(name.toLowerCase()))
}
