import type { KeyObject } from 'node:crypto'
import { keyFacts, requirePermitted } from '@warder/crypto'
import { type HalfType, madeKeyAttributes } from '../../attributes/key-material.ts'
import {
  type KmipKeyKind,
  readKeyKind,
  toAlgorithmName,
  toKmipAlgorithm,
  toStoredKeyKind,
} from '../../attributes/key-names.ts'
import {
  createGenerationAttributes,
  ObjectAttributes,
  toStoredValue,
} from '../../attributes/object-attributes.ts'
import { attributesForReplacement } from '../../attributes/replacement.ts'
import { type ManagedObject, type NewObject, newObjectDefaults } from '../managed-object.ts'
import { newObjectId, type ObjectId } from '../object-id.ts'
import { pairPlan } from '../pair-plan.ts'
import { refusal } from '../refusal.ts'
import { linkReplacement, type ReplacingRequest, requireReplaceable } from '../replace-object.ts'
import { requireDateOrder } from '../settable-dates.ts'
import { newSchedule, replacementMembers } from '../version-rotate.ts'
import { type CreationServices, stageNew } from './apply-rules.ts'

export interface PairRequest extends ReplacingRequest {
  readonly services: ReplacingRequest['services'] & CreationServices
}

export interface ReplacementPair {
  /** In KMIP's name. */
  readonly algorithm: string
  readonly privateKey: ManagedObject
  readonly publicKey: ManagedObject
}

/**
 * Stages a pair of the same kind in place of one, half by half, Active from now on.
 * @param open the public half, if the service has it
 * @throws Refusal, Failure
 */
export async function stageReplacementPair(
  request: PairRequest,
  secret: ManagedObject,
  open: ManagedObject | undefined,
): Promise<ReplacementPair> {
  requireReplaceable(request, secret)
  if (open !== undefined) requireReplaceable(request, open)
  const { services, objects, now } = request
  const kind = readKeyKind(secret)
  if (kind === undefined) throw refusal('InvalidObjectType', 'The algorithm of this key is unknown.')
  const plan = pairPlan({ ...kind, curve: kind.curve, bits: secret.bits, fips: services.policy.fips })
  const made = { algorithm: plan.algorithm, curve: plan.curve, bits: plan.bits, owner: secret.owner, now }
  requirePermitted(services.policy, keyFacts({ ...toStoredKeyKind(made), bits: plan.bits }))
  const pair = await plan.make()
  const [privateId, publicId] = [newObjectId(now), newObjectId(now)]
  const halves = [
    newHalf(made, { type: 'PrivateKey', id: privateId, linkedId: publicId, key: pair.privateKey }, secret),
    newHalf(made, { type: 'PublicKey', id: publicId, linkedId: privateId, key: pair.publicKey }, open),
  ]
  const [first, second] = await stageNew(objects, services, made, halves)
  if (first === undefined || second === undefined)
    throw refusal('GeneralFailure', 'The new pair was not found.')
  await linkReplacement(request, secret, first)
  if (open !== undefined) await linkReplacement(request, open, second)
  return { algorithm: kind.algorithm, privateKey: first, publicKey: second }
}

interface MadeKey extends KmipKeyKind {
  readonly bits: number
  readonly owner: string
  readonly now: number
}

interface Half {
  readonly type: HalfType
  readonly id: ObjectId
  readonly linkedId: ObjectId
  readonly key: KeyObject
}

/** @param before the half that is replaced; undefined: only the private half was here */
function newHalf(made: MadeKey, { key, ...half }: Half, before: ManagedObject | undefined): NewObject {
  const { algorithm, bits, curve, owner, now } = made
  const columns = toStoredKeyKind({ algorithm, curve })
  const material = key.export({ format: 'der', type: half.type === 'PrivateKey' ? 'pkcs8' : 'spki' })
  const passed = before === undefined ? [] : attributesForReplacement(before.attributes).values
  const asked = before?.attributes.get('KeyFormatType')
  const isImplied = toAlgorithmName(toKmipAlgorithm(columns)) === algorithm
  const given = [
    ...(isImplied ? [] : [toStoredValue('CryptographicAlgorithm', algorithm)]),
    ...madeKeyAttributes(half.type, made, material, asked),
  ]
  const settled = new Set(['CryptographicAlgorithm', ...given.map(({ tag }) => tag)])
  const kept = passed.filter(({ tag }) => !settled.has(tag))
  const object: NewObject['object'] = {
    ...newObjectDefaults,
    ...half,
    ...columns,
    bits,
    owner,
    usageMask: before?.usageMask ?? 0,
    createdAt: now,
    form: {},
    ...(before === undefined ? { state: 'PreActive', activationAt: undefined } : moveDates(before, now)),
    ...(before !== undefined && replacementMembers(before)),
    attributes: ObjectAttributes.of([...kept, ...given, ...createGenerationAttributes(now)]),
  }
  requireDateOrder(object)
  return { object: { ...object, ...newSchedule(object) }, material, tags: [] }
}

/** KMIP 2.1 §6.1.46: the half is Active from now on, and the other dates move by the same interval. */
function moveDates(before: ManagedObject, now: number) {
  const shift = before.activationAt === undefined ? 0 : now - before.activationAt
  const move = (at: number | undefined) =>
    at === undefined ? undefined : Math.floor((at + shift) / 1000) * 1000
  return {
    state: 'Active',
    activationAt: Math.floor(now / 1000) * 1000,
    deactivationAt: move(before.deactivationAt),
    processStartAt: move(before.processStartAt),
    protectStopAt: move(before.protectStopAt),
  } as const
}
