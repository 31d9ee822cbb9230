import { randomBytes, randomInt } from 'node:crypto'
import { join } from '../bytes/writer.ts'
import { covercryptError } from '../error.ts'
import { type PublicKey, publicMode, type RightPublic } from '../keys/key-types.ts'
import { type Point, type Scalar, times, toScalar } from '../primitives/group.ts'
import { sha3_256 } from '../primitives/hashes.ts'
import { type KemSealed, kemSeal } from '../primitives/kem.ts'
import type { Right } from '../structure/right.ts'
import type { SecurityMode } from '../structure/structure.ts'
import {
  deriveTagAndSecret,
  type Encapsulation,
  hashFullTranscript,
  hashTranscript,
  seedBytes,
  xorMask,
} from './encapsulation.ts'

export interface Encapsulated {
  readonly encapsulation: Encapsulation
  /** 32 bytes; each of the rights can recover it. */
  readonly secret: Uint8Array
}

/**
 * Encapsulates a fresh secret for rights of one mode.
 *
 * @throws CovercryptError disabled_attribute (the public key lacks a right), mixed_modes, malformed
 */
export function encapsulate(publicKey: PublicKey, rights: Iterable<Right>): Encapsulated {
  const targets = shuffle([...rights].map((right) => publicKey.rights.get(right) ?? missing()))
  const mode = commonMode(targets)
  const seed = randomBytes(seedBytes)
  const scalar = toScalar(seed)
  const points =
    mode === 'PostQuantum'
      ? []
      : publicKey.tracingPoints.map((point) => times(scalar, point) ?? throwMalformed())
  const sealed = targets.map(
    ({ encapsulationKey }) => encapsulationKey && (kemSeal(encapsulationKey) ?? throwMalformed()),
  )
  const transcript = hashTranscript(
    points,
    sealed.flatMap((one) => one?.ciphertext ?? []),
  )
  const maskedTargets = targets.map((target, index) => ({
    kemCiphertext: sealed[index]?.ciphertext,
    maskedSeed: xorMask(seed, deriveMask(target, scalar, sealed[index], transcript)),
  }))
  const seeds = maskedTargets.map(({ maskedSeed }) => maskedSeed)
  const { tag, secret } = deriveTagAndSecret(join([seed, hashFullTranscript(transcript, seeds)]))
  seed.fill(0)
  scalar.fill(0)
  return { encapsulation: { mode, tag, points, targets: maskedTargets }, secret }
}

/** SHA3-256(K1 || K2 || T), absent parts left out. */
function deriveMask(
  { point }: RightPublic,
  scalar: Scalar,
  sealed: KemSealed | undefined,
  transcript: Uint8Array,
): Uint8Array {
  const shared: Point[] = point === undefined ? [] : [times(scalar, point) ?? throwMalformed()]
  return sha3_256(...shared, ...(sealed === undefined ? [] : [sealed.sharedKey]), transcript)
}

function commonMode(targets: readonly RightPublic[]): SecurityMode {
  const modes = new Set(targets.map(publicMode))
  const [mode] = modes
  if (mode === undefined || modes.size > 1)
    throw covercryptError(
      'mixed_modes',
      'The alternatives of the policy differ in their protection (classic, hybrid, post-quantum): encrypt for each separately.',
    )
  return mode
}

/** Shuffles the targets, so that their order does not disclose that of the policy. */
function shuffle<Element>(elements: readonly Element[]): readonly Element[] {
  const order = [...elements]
  for (let index = order.length - 1; index > 0; index--) {
    const other = randomInt(index + 1)
    const kept = order[index] as Element
    order[index] = order[other] as Element
    order[other] = kept
  }
  return order
}

function missing(): never {
  throw covercryptError('disabled_attribute', 'The policy names an attribute that is disabled.')
}

function throwMalformed(): never {
  throw covercryptError('malformed', 'The public key is malformed: a key of a right is refused.')
}
