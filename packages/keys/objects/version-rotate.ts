import { failure } from '@warder/base'
import {
  type AlgorithmPolicy,
  type GeneratedKey,
  generateKey,
  isJoseKey,
  type KeyMaterial,
  type KeySpec,
  keyFacts,
  type MaterialAlgorithm,
  requirePermitted,
} from '@warder/crypto'
import { attributesForReplacement } from '../attributes/replacement.ts'
import { type NewHalf, newKeyObjects } from './create.ts'
import { createHsmHalves, type HsmTarget, nextHsmTarget } from './hsm-halves.ts'
import {
  type Extractability,
  getChainId,
  type ManagedObject,
  type NewObject,
  type ObjectLink,
} from './managed-object.ts'
import type { ObjectId } from './object-id.ts'
import { hasOwnSchedule, scheduleIn } from './rotation-schedule.ts'
import { stateAt, withheld, withheldSentences } from './state-machine.ts'
import type { ObjectChange, UnitOfWork } from './unit-of-work.ts'
import { maxVersions } from './version-store.ts'
import { isLaterVersion } from './version-use.ts'

/** A staged new version, with the other half if the key is a pair. */
export interface Rotation {
  /** Generation 0, as it was read. */
  readonly key: ManagedObject
  readonly version: ManagedObject
  readonly publicVersion: ManagedObject | undefined
}

/**
 * Stages a new version of a key, and of the other half of its pair: a key of the same kind, with the names
 * and dates of the version before, that protects from now on. Everything is one commit, which the row of
 * generation 0 guards: of two rotations at once one wins, and there is one newest at any time.
 * @param key a symmetric or private key, not one of its versions
 * @throws failure('crypto_failure') for keys that cannot be rotated; failure('unsupported_algorithm')
 */
export async function stageRotation(
  objects: UnitOfWork,
  services: { readonly policy: AlgorithmPolicy },
  key: ManagedObject,
  now: number,
): Promise<Rotation> {
  const { newest, open, openKey } = await rotatable(objects, services, key, now)
  const made = await successors(objects, newest, open, now)
  try {
    const [first, second] = made
    if (first === undefined) throw failure('internal_error', 'no version was created')
    supersede(objects, key, newest, first.object.id, now)
    if (openKey !== undefined && open !== undefined && second !== undefined)
      supersede(objects, openKey, open, second.object.id, now)
    const version = objects.create(first)
    const publicVersion = second === undefined ? undefined : objects.create(second)
    return { key, version, publicVersion }
  } finally {
    for (const { material } of made) material?.fill(0)
  }
}

/**
 * Objects that a rotation replaces: the newest version, and that of the public half with its key. Changes
 * nothing.
 * @throws failure('crypto_failure') for keys that cannot be rotated; failure('unsupported_algorithm')
 */
export async function rotatable(
  objects: UnitOfWork,
  { policy }: { readonly policy: AlgorithmPolicy },
  key: ManagedObject,
  now: number,
): Promise<
  { readonly newest: ManagedObject } & Partial<Record<'open' | 'openKey', ManagedObject | undefined>>
> {
  const newest = await findNewest(objects, key)
  requireRotatable(key, newest, now)
  requirePermitted(policy, keyFacts(newest))
  const open = await otherHalf(objects, newest)
  const openKey = open === undefined ? undefined : await objects.read(getChainId(open))
  if (openKey !== undefined && open !== undefined) requireRotatable(openKey, open, now, true)
  return { newest, open, openKey }
}

async function findNewest(objects: UnitOfWork, key: ManagedObject): Promise<ManagedObject> {
  if (key.newestId === undefined) return key
  const newest = await objects.read(key.newestId)
  if (newest === undefined) throw failure('not_found', 'Key not found.')
  return newest
}

/** @throws failure('crypto_failure') */
function requireRotatable(key: ManagedObject, newest: ManagedObject, now: number, isPublic = false): void {
  const refuse = (sentence: string) => failure('crypto_failure', sentence)
  if (isLaterVersion(key)) throw refuse(`This is a version: rotate its key, ${getChainId(key)}.`)
  const { type, form, algorithm, bits, curve, boundAlg } = newest
  const expected = isPublic ? type === 'PublicKey' : type === 'SymmetricKey' || type === 'PrivateKey'
  if (!expected) throw refuse('Only symmetric keys, and pairs by their private key, can be rotated.')
  const state = stateAt(newest, now)
  if (state === 'Destroyed' || state === 'Destroyed_Compromised')
    throw refuse(`The newest version is ${state}, so the key cannot be rotated.`)
  const kept = withheld(newest)
  if (kept !== undefined) throw refuse(withheldSentences[kept])
  if (form.wrapped === true || form.format !== undefined)
    throw refuse('The key is stored in a client-supplied form: replace it over KMIP (ReKey).')
  if (algorithm === undefined || bits === undefined || !isJoseKey({ algorithm, bits, curve, boundAlg }))
    throw refuse('Rotate keys of this algorithm over KMIP (ReKey).')
  if (newest.generation + 1 >= maxVersions) throw refuse(`A key has at most ${maxVersions} versions.`)
}

/** The public half, if it is stored here and has the same owner; links of other users are ignored. */
async function otherHalf(objects: UnitOfWork, object: ManagedObject): Promise<ManagedObject | undefined> {
  if (object.type !== 'PrivateKey' || object.linkedId === undefined) return undefined
  const open = await objects.read(object.linkedId)
  return open?.type === 'PublicKey' && open.linkedId === object.id && open.owner === object.owner
    ? open
    : undefined
}

async function successors(
  objects: UnitOfWork,
  newest: ManagedObject,
  open: ManagedObject | undefined,
  now: number,
): Promise<readonly NewObject[]> {
  const replaced = open === undefined ? [newest] : [newest, open]
  const target = nextHsmTarget(objects, newest, now)
  const generated =
    target === undefined
      ? toMaterials(await generateKey(toSpec(newest))).map((material) => ({ material }))
      : await createHsmVersion(objects, newest, target, now)
  const halves = replaced.map(
    (object, index): NewHalf => ({
      ...(generated[index] as Pick<NewHalf, 'id' | 'material' | 'extractability'>),
      usageMask: object.usageMask,
      tags: [],
    }),
  ) as [NewHalf] | [NewHalf, NewHalf]
  const made = newKeyObjects({ owner: newest.owner, boundAlg: newest.boundAlg, now }, halves)
  return made.map((one, index) => {
    const before = replaced[index] ?? newest
    return {
      ...one,
      object: {
        ...one.object,
        ...copyVersionMembers(before, now),
        // These attributes are reported by the HSM for each key.
        ...(one.object.form.hsm !== undefined && pickExtractability(one.object)),
        attributes: attributesForReplacement(before.attributes),
      },
    }
  })
}

/** Creates the next version in the HSM of the key. */
function createHsmVersion(
  objects: UnitOfWork,
  { algorithm, bits, curve, usageMask, id }: ManagedObject,
  target: HsmTarget,
  now: number,
): Promise<readonly NewHalf[]> {
  if (algorithm === undefined) throw failure('crypto_failure', `The algorithm of ${id} is unknown.`)
  const request = { algorithm: algorithm as MaterialAlgorithm, bits, curve, mask: () => usageMask }
  return createHsmHalves(objects, objects, target, request, now)
}

function pickExtractability({ extractable, sensitive, neverExtractable, alwaysSensitive }: Extractability) {
  return { extractable, sensitive, neverExtractable, alwaysSensitive }
}

function toMaterials(made: GeneratedKey): readonly KeyMaterial[] {
  return 'secret' in made ? [made.secret] : [made.private, made.public]
}

function toSpec({ algorithm, bits = 0, curve = '', boundAlg: alg }: ManagedObject): KeySpec {
  switch (algorithm) {
    case 'AES':
    case 'HMAC':
      return { algorithm, alg: alg ?? '', bits }
    case 'RSA':
      return { algorithm, alg, bits }
    case 'EC':
      return { algorithm, alg, curve }
    default:
      return { algorithm, alg } as KeySpec
  }
}

/** Members that a replacement inherits: names, and limits whose count starts again (KMIP 2.1 §6.1.46). */
export function replacementMembers({ names, usageLimits, extractable, sensitive }: ManagedObject) {
  return {
    usageLimits: usageLimits && { ...usageLimits, left: usageLimits.total },
    extractable,
    sensitive,
    neverExtractable: !extractable,
    alwaysSensitive: sensitive,
    names,
  }
}

/** Members that a version inherits: limits, whose count starts again, names and its position in the chain. */
function copyVersionMembers(before: ManagedObject, now: number): Partial<NewObject['object']> {
  const { activationAt = before.createdAt } = before
  const shift = (at: number | undefined) =>
    at === undefined ? undefined : now + Math.max(0, at - activationAt)
  return {
    deactivationAt: shift(getPlannedEnd(before, now)),
    processStartAt: shift(before.processStartAt),
    protectStopAt: shift(before.protectStopAt),
    ...replacementMembers(before),
    links: [{ kind: 'ReplacedObjectLink', id: before.id }],
    chainId: getChainId(before),
    generation: before.generation + 1,
  }
}

/**
 * The planned deactivation of a version. undefined for a revoked version, which has the moment of its revocation there:
 * a new version that copied this period would be deactivated just as early.
 */
function getPlannedEnd({ deactivationAt, revocationReason }: ManagedObject, now: number): number | undefined {
  const isRevoked = revocationReason !== undefined && deactivationAt !== undefined && deactivationAt <= now
  return isRevoked ? undefined : deactivationAt
}

/** Changes of a rotation to generation 0 and to the version that was the newest, which may be the same. */
function supersede(
  objects: UnitOfWork,
  key: ManagedObject,
  newest: ManagedObject,
  by: ObjectId,
  now: number,
): void {
  const first: ObjectChange = { chainId: key.id, newestId: by, rotateAt: nextRotation(key, now) }
  const replaced: ObjectChange = { supersededAt: now, names: [], links: replaceLink(newest.links, by) }
  if (newest.id === key.id) {
    objects.update(key, { ...first, ...replaced })
    return
  }
  objects.update(key, first)
  objects.update(newest, replaced)
}

function replaceLink(links: readonly ObjectLink[], id: string): readonly ObjectLink[] {
  return [
    ...links.filter(({ kind }) => kind !== 'ReplacementObjectLink'),
    { kind: 'ReplacementObjectLink', id },
  ]
}

/**
 * Stages that `by`, which this unit created, is the version after `replaced`, for objects that another
 * protocol creates and links by its own rules. Its names and links are for the caller.
 * @throws failure('crypto_failure') when the key has as many versions as it can have
 */
export async function stageSuccession(
  objects: UnitOfWork,
  replaced: ManagedObject,
  by: ManagedObject,
  now: number,
): Promise<void> {
  const id = getChainId(replaced)
  const key = id === replaced.id ? replaced : await objects.read(id)
  if (key === undefined) throw failure('not_found', 'Key not found.')
  const generation = replaced.generation + 1
  if (generation >= maxVersions) throw failure('crypto_failure', `A key has at most ${maxVersions} versions.`)
  // A schedule that is set on the new version applies to the key.
  const rotateEvery = by.rotateEvery ?? key.rotateEvery
  const rotateAt = nextRotation({ rotateEvery }, now)
  objects.update(key, { chainId: id, newestId: by.id, rotateEvery, rotateAt })
  objects.update(replaced, { chainId: id, supersededAt: now })
  objects.update(by, { chainId: id, generation, ...unscheduled })
}

/** Members that no version but the first has: the schedule is the key's. */
const unscheduled = { rotateEvery: undefined, rotateAt: undefined, rotateOffset: undefined } as const

/** When a key whose schedule is set now is due, which may be at once. Unix milliseconds. */
export function firstRotation(
  { rotateEvery, rotateOffset = 0 }: Pick<ManagedObject, 'rotateEvery' | 'rotateOffset'>,
  newest: Pick<ManagedObject, 'createdAt' | 'generation'>,
): number | undefined {
  if (rotateEvery === undefined) return undefined
  return newest.createdAt + (rotateEvery + (newest.generation === 0 ? rotateOffset : 0)) * 1000
}

/** The schedule of a new key, from the attributes with which it is made (docs/adr/rotation.md). */
export function newSchedule(object: NewObject['object']): Partial<NewObject['object']> {
  const whole: ManagedObject = { ...object, changedAt: object.createdAt, version: 0 }
  if (!hasOwnSchedule(whole)) return {}
  const schedule = scheduleIn(whole)
  return { ...schedule, rotateAt: firstRotation(schedule, whole) }
}

/** The next due date of a key that is rotated now: counted from the rotation, so a clock jump causes at most one. */
export function nextRotation(
  { rotateEvery }: Pick<ManagedObject, 'rotateEvery'>,
  now: number,
): number | undefined {
  return rotateEvery === undefined ? undefined : now + rotateEvery * 1000
}
