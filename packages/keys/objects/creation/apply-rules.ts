import { type Failure, failure } from '@warder/base'
import type { AlgorithmPolicy } from '@warder/crypto'
import { dateTime, integer, Tag, type TtlvNode } from '@warder/kmip-codec'
import type { Database } from '@warder/storage'
import type { NewKey } from '../create.ts'
import type { ManagedObject, NewObject } from '../managed-object.ts'
import { Refusal } from '../refusal.ts'
import { explain } from '../refusal-reasons.ts'
import type { UnitOfWork } from '../unit-of-work.ts'
import { type CreationRules, noRules, withDefaults } from './creation-rules.ts'
import { readRules } from './creation-rules-store.ts'
import { buildNewObject } from './new-object.ts'
import { defaultAlgorithm, readStoredAttributes } from './stored-attributes.ts'

/** Services by which new objects are made. */
export interface CreationServices {
  readonly db: Database
  readonly policy: AlgorithmPolicy
}

/**
 * Applies the rules of `owner` for new objects, set with SetDefaults and SetConstraints (KMIP 2.1 §6.1.52, §6.1.53), to
 * objects that any front end makes: fills in defaults and checks constraints.
 * @param kind `replacement`: inherits from the replaced object and gets no defaults
 * @throws Failure crypto_failure for a violated constraint, or the kind for a default that does not fit; with the reason
 *   of KMIP in the member `result_reason`
 */
export async function applyCreationRules(
  services: CreationServices,
  owner: string,
  created: readonly NewObject[],
  now: number,
  kind: 'new' | 'replacement' = 'new',
): Promise<readonly NewObject[]> {
  const all = await readRules(services.db, owner)
  if (all === noRules) return created
  const rules = kind === 'new' ? all : { ...all, defaults: undefined }
  try {
    return created.map((one) => applyRules(one, { rules, now, services, principal: { name: owner } }))
  } catch (error) {
    throw error instanceof Refusal ? toFailureWithReason(error) : error
  }
}

/**
 * Stages new objects by the rules of their owner, and wipes their bytes.
 * @throws as `applyCreationRules`
 */
export async function stageNew(
  objects: UnitOfWork,
  services: CreationServices,
  key: Pick<NewKey, 'owner' | 'now'>,
  wanted: readonly NewObject[],
): Promise<readonly ManagedObject[]> {
  try {
    const ruled = await applyCreationRules(services, key.owner, wanted, key.now)
    return ruled.map((one) => objects.create(one))
  } finally {
    for (const { material } of wanted) material?.fill(0)
  }
}

function toFailureWithReason(refused: Refusal): Failure {
  const { reason, message, failure: told } = explain(refused)
  return failure(told.kind, message, { members: { result_reason: reason } })
}

interface RulesContext {
  readonly rules: CreationRules
  readonly now: number
  readonly services: { readonly policy: AlgorithmPolicy }
  readonly principal: { readonly name: string }
}

/** @throws Refusal ConstraintViolation, or the refusal of a default that does not fit */
function applyRules(created: NewObject, context: RulesContext): NewObject {
  const { object, material, tags } = created
  const { id, type, algorithm, bits, curve, boundAlg, linkedId, activationAt, deactivationAt, usageMask } =
    object
  const given: readonly TtlvNode[] = [defaultAlgorithm(object), ...readStoredAttributes(object)].filter(
    (node) => node !== undefined,
  )
  const columns: readonly TtlvNode[] = [
    integer(Tag.CryptographicUsageMask, usageMask),
    ...(bits === undefined ? [] : [integer(Tag.CryptographicLength, bits)]),
    ...date(Tag.ActivationDate, activationAt),
    ...date(Tag.DeactivationDate, deactivationAt),
  ]
  const own = new Set(given)
  const attributes = withDefaults(context.rules, type, [...given, ...columns]).filter(
    (node) => !own.has(node),
  )
  const key = { type, algorithm, bits, curve, boundAlg, material, id, linkedId }
  const made = buildNewObject(context, { ...key, attributes, given })
  return {
    ...created,
    object: { ...made.object, activationAt, form: object.form },
    tags: [...new Set([...tags, ...made.tags])],
  }
}

function date(tag: number, at: number | undefined): readonly TtlvNode[] {
  return at === undefined ? [] : [dateTime(tag, Math.floor(at / 1000))]
}
