import { splitSecret } from '@warder/crypto'
import { type AlgorithmName, type ManagedObject, requireSoftwareStorage, stateAt } from '@warder/keys'
import { integer, Tag, type TtlvNode } from '@warder/kmip-codec'
import { readLength, requireAlgorithm, storageMasks } from '../../attributes/wanted-key.ts'
import { requireExportApproval, requireExtractable } from '../../engine/approval.ts'
import { creates, defineOperation, namedObject } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { readAlgorithm } from '../../key-blocks/object-shape.ts'
import { definePayload, field, repeated, required } from '../../payloads/payload.ts'
import { ceremonySplit, isCeremonyKey, stageCeremony, stageShare } from './ceremony-key.ts'
import { newSymmetricKey } from './create.ts'
import { newBrought, readBrought } from './registered-object.ts'
import { link } from './replacement.ts'
import { isSensitive, partNode, primeAsked, sensitive } from './split-key-parts.ts'

/**
 * CreateSplitKey (KMIP 2.1 §6.1.10): splits an existing key, which requires the right to get it, or a new symmetric
 * key, which is stored only in its parts. ObjectType is that of the new objects, SplitKey; the type of the split object
 * is accepted too. A key with the attribute of a ceremony is split among the crypto officers: see `ceremony-key.ts`.
 */
export const createSplitKey = defineOperation({
  name: 'CreateSplitKey',
  reach: ['reveal material', 'make object'],
  asks: ['get'],
  access: creates,
  request: definePayload({
    objectType: required(field.named('ObjectType')),
    uniqueIdentifier: namedObject,
    parts: required(field.integer(Tag.SplitKeyParts)),
    threshold: required(field.integer(Tag.SplitKeyThreshold)),
    method: required(field.named('SplitKeyMethod')),
    primeFieldSize: field.bigInteger(Tag.PrimeFieldSize),
    attributes: field.attributes(Tag.Attributes),
    storageMasks,
  }),
  reply: definePayload({ uniqueIdentifiers: repeated(namedObject) }),
  async handle(asked, context) {
    const { objectType: type, method, attributes: requested } = asked
    requireSoftwareStorage(asked.storageMasks)
    // With one identifier for all parts, only one part would be stored.
    if (requested.some(({ tag }) => tag === Tag.UniqueIdentifier))
      throw kmipFailure('InvalidField', 'The server assigns the identifiers of the parts of a key.')
    const whole = await findWhole(asked.uniqueIdentifier, type, requested, context)
    const attributes = whole.base === undefined ? requested : ofBase(whole.base, requested)
    try {
      const ceremony =
        whole.base !== undefined && isCeremonyKey(whole.base)
          ? await ceremonySplit(whole.base, method, context)
          : undefined
      const parts = ceremony?.owners.length ?? asked.parts
      const threshold = ceremony?.threshold ?? asked.threshold
      const split = splitSecret(whole.material, {
        method,
        parts,
        threshold,
        primeFieldSize: primeAsked(asked.primeFieldSize),
      })
      const description = {
        method,
        parts,
        threshold,
        primeFieldSize: split.primeFieldSize,
        algorithm: whole.algorithm,
        bits: whole.bits,
      }
      const ids: string[] = []
      for (const part of split.parts) {
        const brought = await readBrought('SplitKey', partNode(description, part), attributes, context)
        const created = newBrought(context, brought, attributes)
        const made =
          ceremony === undefined
            ? context.objects.create(created)
            : stageShare(ceremony, created, part.identifier, context.objects)
        brought.material?.fill(0)
        part.bytes.fill(0)
        ids.push(made.id)
      }
      if (ceremony !== undefined) await stageCeremony(ceremony, whole.material, context)
      context.audit({
        ...(whole.base !== undefined && { object: whole.base.id }),
        algorithm: method,
        details: { parts: ids, ...(ceremony !== undefined && { officers: ceremony.owners }) },
      })
      context.placeholder = ids[0]
      return { uniqueIdentifiers: ids }
    } finally {
      whole.material.fill(0)
    }
  },
})

interface Whole {
  readonly base: ManagedObject | undefined
  readonly material: Uint8Array
  readonly algorithm: AlgorithmName | undefined
  readonly bits: number | undefined
}

async function findWhole(
  identifier: TtlvNode | undefined,
  type: string,
  attributes: readonly TtlvNode[],
  context: KmipContext,
): Promise<Whole> {
  if (identifier === undefined) return generateWhole(type, attributes, context)
  const base = await context.permitted(context.identifier(identifier), 'get')
  if (type !== 'SplitKey' && base.type !== type)
    throw kmipFailure('InvalidField', `The object is not a ${type}.`)
  requireSplittable(context, base)
  await requireExportApproval(context, base)
  const material = base.form.format === undefined ? await context.objects.material(base) : undefined
  if (material === undefined)
    throw kmipFailure('KeyValueNotPresent', 'The value of the key is not stored on this server.')
  return { base, material, algorithm: readAlgorithm(base), bits: base.bits }
}

function generateWhole(type: string, attributes: readonly TtlvNode[], context: KmipContext): Whole {
  if (type !== 'SplitKey' && type !== 'SymmetricKey')
    throw kmipFailure('InvalidField', `CreateSplitKey cannot create objects of type ${type}.`)
  const { material, bits } = newSymmetricKey(attributes, context)
  if (material === undefined) throw kmipFailure('GeneralFailure', 'The key could not be created.')
  return {
    base: undefined,
    material,
    algorithm: requireAlgorithm(attributes),
    bits: bits ?? readLength(attributes),
  }
}

/** Enough parts reveal the key, so a key that may not be returned is not split. */
function requireSplittable({ now }: KmipContext, base: ManagedObject): void {
  if (base.type !== 'SymmetricKey' && base.type !== 'PrivateKey' && base.type !== 'SecretData')
    throw kmipFailure('InvalidObjectType', `An object of type ${base.type} cannot be split.`)
  const state = stateAt(base, now)
  if (state === 'Destroyed' || state === 'Destroyed_Compromised')
    throw kmipFailure('ObjectDestroyed', 'DENIED')
  requireExtractable(base)
}

/**
 * Attributes of the parts of an existing key: those of the key take precedence (KMIP 2.1 §6.1.10). Its algorithm and
 * length are in the key block of each part. A part has a link to its key, and is as sensitive as the key.
 */
function ofBase(base: ManagedObject, requested: readonly TtlvNode[]): readonly TtlvNode[] {
  const attributes = [
    ...requested.filter(({ tag }) => !copiedFromKey.has(tag)),
    integer(Tag.CryptographicUsageMask, base.usageMask),
    link('ParentLink', base.id),
  ]
  return isSensitive(base) ? sensitive(attributes) : attributes
}

const copiedFromKey: ReadonlySet<number> = new Set([
  Tag.CryptographicAlgorithm,
  Tag.CryptographicLength,
  Tag.CryptographicUsageMask,
])
