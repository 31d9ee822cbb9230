import { covercryptError } from '../error.ts'
import type { Point } from '../primitives/group.ts'
import { sha3_256, sha3_384 } from '../primitives/hashes.ts'
import type { SecurityMode } from '../structure/structure.ts'

export const tagBytes = 16
export const seedBytes = 32

/** Target of an encapsulation, for one right: F, and in modes with ML-KEM its ciphertext E. */
export interface Target {
  readonly kemCiphertext: Uint8Array | undefined
  readonly maskedSeed: Uint8Array
}

export interface Encapsulation {
  readonly mode: SecurityMode
  readonly tag: Uint8Array
  /** The points c, one for each tracer; none in the mode PostQuantum. */
  readonly points: readonly Point[]
  readonly targets: readonly Target[]
}

/** T: binds the points and the ciphertexts of ML-KEM. */
export function hashTranscript(points: readonly Point[], kemCiphertexts: readonly Uint8Array[]): Uint8Array {
  return sha3_256(...points, ...kemCiphertexts)
}

/** U: additionally binds the masked seeds. */
export function hashFullTranscript(transcript: Uint8Array, maskedSeeds: readonly Uint8Array[]): Uint8Array {
  return sha3_256(transcript, ...maskedSeeds)
}

export interface TagAndSecret {
  /** 16 bytes. */
  readonly tag: Uint8Array
  /** 32 bytes. */
  readonly secret: Uint8Array
}

/** @param input the seed and the full transcript U, concatenated */
export function deriveTagAndSecret(input: Uint8Array): TagAndSecret {
  const both = sha3_384(input)
  return { tag: both.subarray(0, tagBytes), secret: both.subarray(tagBytes) }
}

/** Masks or unmasks a seed: XOR of 32 bytes. */
export function xorMask(seed: Uint8Array, mask: Uint8Array): Uint8Array {
  return seed.map((byte, index) => byte ^ (mask[index] as number))
}

/** The common error for a key without a matching right and for an altered ciphertext. */
export function cannotOpen(): Error {
  return covercryptError('cannot_open', 'The key cannot decrypt the ciphertext.')
}
