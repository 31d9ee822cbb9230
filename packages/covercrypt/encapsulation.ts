import { type KeyObject, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { join, leb, list, Reader } from './bytes.ts'
import { covercryptError } from './error.ts'
import {
  type PublicKey,
  publicMode,
  type RightPublic,
  type RightSecret,
  secretMode,
  type UserKey,
} from './keys.ts'
import { maxTargets } from './policy.ts'
import {
  importDecapsulationKey,
  isPoint,
  type KemSealed,
  kemCiphertextBytes,
  kemOpen,
  kemSeal,
  type Point,
  plus,
  pointBytes,
  type Scalar,
  sha3_256,
  sha3_384,
  sharedKeyBytes,
  times,
  toScalar,
} from './primitives.ts'
import type { Right, SecurityMode } from './structure.ts'

const tagBytes = 16
const seedBytes = 32

/** Target of an encapsulation, for one right: F, and in modes with ML-KEM its ciphertext E. */
interface Target {
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

interface TagAndSecret {
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

/** Copies bytes of `from` into `into` if the mask is 255, and leaves `into` unchanged if it is 0. */
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

/** Codes of the modes in encapsulations; keys have others. */
const modes: readonly SecurityMode[] = ['Classic', 'PostQuantum', 'Hybridized']

/** Reads exactly one encapsulation. @throws CovercryptError malformed */
export function decodeEncapsulation(bytes: Uint8Array): Encapsulation {
  const reader = new Reader(bytes, 'encapsulation')
  const encapsulation = readEncapsulation(reader)
  reader.end()
  return encapsulation
}

export function readEncapsulation(reader: Reader): Encapsulation {
  const mode = modes[reader.code([0, 1, 2], 'the mode of the encapsulation')] as SecurityMode
  const tag = reader.take(tagBytes)
  const points = mode === 'PostQuantum' ? [] : reader.list(pointBytes, () => readPoint(reader))
  if (mode !== 'PostQuantum' && points.length === 0) reader.refuse('it has no points')
  const targetBytes = seedBytes + (mode === 'Classic' ? 0 : kemCiphertextBytes)
  const targets = reader.list(targetBytes, (): Target => {
    const kemCiphertext = mode === 'Classic' ? undefined : reader.take(kemCiphertextBytes)
    return { kemCiphertext, maskedSeed: reader.take(seedBytes) }
  })
  if (targets.length === 0 || targets.length > maxTargets)
    reader.refuse(`it is for ${targets.length} rights, not 1 to ${maxTargets}`)
  return { mode, tag, points, targets }
}

function readPoint(reader: Reader): Uint8Array {
  const point = reader.take(pointBytes)
  return isPoint(point) ? point : reader.refuse('a point is the identity or not canonically encoded')
}

export function encodeEncapsulation({ mode, tag, points, targets }: Encapsulation): Uint8Array<ArrayBuffer> {
  return join([
    leb(modes.indexOf(mode)),
    tag,
    ...(mode === 'PostQuantum' ? [] : [list(points)]),
    list(
      targets.map(({ kemCiphertext, maskedSeed }) =>
        kemCiphertext === undefined ? maskedSeed : join([kemCiphertext, maskedSeed]),
      ),
    ),
  ])
}
