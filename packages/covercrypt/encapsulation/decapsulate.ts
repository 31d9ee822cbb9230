import { type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import { join } from '../bytes/writer.ts'
import { covercryptError } from '../error.ts'
import { type RightSecret, secretMode, type UserKey } from '../keys/key-types.ts'
import { type Point, plus, type Scalar, times, toScalar } from '../primitives/group.ts'
import { sha3_256 } from '../primitives/hashes.ts'
import { importDecapsulationKey, kemOpen, sharedKeyBytes } from '../primitives/kem.ts'
import {
  cannotOpen,
  deriveTagAndSecret,
  type Encapsulation,
  hashFullTranscript,
  hashTranscript,
  seedBytes,
  type TagAndSecret,
} from './encapsulation.ts'

/** Maximum product of the secrets of a user key and the targets of a ciphertext. */
const maxTrials = 65_536

/**
 * Recovers the secret of an encapsulation, 32 bytes. Every secret of the user key in the mode of the encapsulation is
 * tried with every target, also after a success, so that the time does not disclose which right matched. The points
 * are verified in either case. Old revisions are tried like current ones.
 *
 * @throws CovercryptError cannot_open, too_large
 */
export function decapsulate(userKey: UserKey, encapsulation: Encapsulation): Uint8Array {
  const { mode, points, targets, tag } = encapsulation
  if (mode !== 'PostQuantum' && points.length !== userKey.id.length) throw cannotOpen()
  const secrets = [...userKey.rights.values()].flat().filter((secret) => secretMode(secret) === mode)
  if (secrets.length * targets.length > maxTrials)
    throw covercryptError('too_large', 'The user key and the ciphertext have too many rights in total.')
  const shared = mode === 'PostQuantum' ? undefined : (sumProducts(userKey.id, points) ?? throwCannotOpen())
  const transcript = hashTranscript(
    points,
    targets.flatMap(({ kemCiphertext }) => kemCiphertext ?? []),
  )
  const fullTranscript = hashFullTranscript(
    transcript,
    targets.map(({ maskedSeed }) => maskedSeed),
  )
  const found = new Found()
  const trial = new Trial(fullTranscript)
  for (const secret of secrets) {
    const opener = createUnmasker(secret, shared, transcript)
    for (const { kemCiphertext, maskedSeed } of targets) {
      const opened = trial.open(maskedSeed, opener(kemCiphertext))
      found.take(timingSafeEqual(opened.tag, tag), trial.seed, opened.secret)
    }
  }
  trial.wipe()
  const honest = mode === 'PostQuantum' || matchesPoints(found.seed, userKey.tracingPoints, points)
  if (!found.any || !honest) throw cannotOpen()
  return found.secret
}

/** A trial of one secret with one target. There are thousands of trials, which share their memory. */
class Trial {
  readonly #input: Uint8Array
  /** Result of the last trial. */
  readonly seed: Uint8Array

  constructor(fullTranscript: Uint8Array) {
    this.#input = join([new Uint8Array(seedBytes), fullTranscript])
    this.seed = this.#input.subarray(0, seedBytes)
  }

  open(maskedSeed: Uint8Array, mask: Uint8Array): TagAndSecret {
    for (let index = 0; index < seedBytes; index++)
      this.seed[index] = (maskedSeed[index] as number) ^ (mask[index] as number)
    return deriveTagAndSecret(this.#input)
  }

  wipe(): void {
    this.#input.fill(0)
  }
}

/** Stores the successful result, by constant-time selection without branches. */
class Found {
  /** Initially a dummy seed, so that the verification of the points does the same work. */
  readonly seed: Uint8Array = randomBytes(32)
  readonly secret = new Uint8Array(32)
  any = false

  take(opens: boolean, seed: Uint8Array, secret: Uint8Array): void {
    const mask = -Number(opens) & 0xff
    select(this.seed, seed, mask)
    select(this.secret, secret, mask)
    this.any = Boolean(Number(this.any) | Number(opens))
  }
}

/** Writes `from` into `into` where the mask is 255, and leaves it where it is 0. */
function select(into: Uint8Array, from: Uint8Array, mask: number): void {
  for (let index = 0; index < into.length; index++) {
    const old = into[index] as number
    into[index] = old ^ (mask & (old ^ (from[index] as number)))
  }
}

/** Returns a function that derives the mask of a target's seed from its ML-KEM ciphertext. */
function createUnmasker(
  { scalar, decapsulationKey }: RightSecret,
  shared: Point | undefined,
  transcript: Uint8Array,
): (kemCiphertext: Uint8Array | undefined) => Uint8Array {
  const first =
    scalar === undefined || shared === undefined ? none : (times(scalar, shared) ?? throwCannotOpen())
  if (decapsulationKey === undefined) {
    const mask = sha3_256(first, transcript)
    return () => mask
  }
  const key: KeyObject = importDecapsulationKey(decapsulationKey) ?? throwCannotOpen()
  const input = join([first, new Uint8Array(sharedKeyBytes), transcript])
  return (kemCiphertext) => {
    input.set(kemOpen(key, kemCiphertext ?? throwCannotOpen()), first.length)
    return sha3_256(input)
  }
}

const none = new Uint8Array(0)

/** Computes the sum of the products; undefined for the identity, which no honest encapsulation yields. */
function sumProducts(scalars: readonly Scalar[], points: readonly Point[]): Point | undefined {
  let sum: Point | undefined
  for (const [index, scalar] of scalars.entries()) {
    const product = times(scalar, points[index] as Point)
    if (product === undefined) return undefined
    sum = sum === undefined ? product : plus(sum, product)
  }
  return sum
}

/** Fujisaki-Okamoto check: whether the points were derived from this seed. */
function matchesPoints(seed: Uint8Array, tracingPoints: readonly Point[], points: readonly Point[]): boolean {
  const scalar = toScalar(seed)
  let same = 1
  for (const [index, tracing] of tracingPoints.entries()) {
    const made = times(scalar, tracing)
    same &= Number(made !== undefined && timingSafeEqual(made, points[index] as Point))
  }
  return same === 1
}

function throwCannotOpen(): never {
  throw cannotOpen()
}
