import { isDeepStrictEqual } from 'node:util'
import { joinParts, maximumParts } from '@warder/crypto'
import { type ManagedObject, readStoredWithTag, requireSoftwareStorage, stateAt } from '@warder/keys'
import { Tag } from '@warder/kmip-codec'
import { storageMasks } from '../../attributes/wanted-key.ts'
import { creates, defineOperation, namedObject, objectReply } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { definePayload, field, repeated, required } from '../../payloads/payload.ts'
import { isShare, stageActivation } from './ceremony-key.ts'
import { symmetricKinds } from './create.ts'
import { keyNode } from './key-node.ts'
import { newBrought, readBrought } from './registered-object.ts'
import { isSensitive, type PartDescription, readPart, sensitive } from './split-key-parts.ts'

/** JoinSplitKey (KMIP 2.1 §6.1.27): a new object out of parts, each of which the caller must have the right to get. */
export const joinSplitKey = defineOperation({
  name: 'JoinSplitKey',
  reach: ['make object', 'reveal material'],
  asks: ['get'],
  access: creates,
  request: definePayload({
    objectType: required(field.named('ObjectType')),
    uniqueIdentifiers: repeated(namedObject),
    secretDataType: field.named('SecretDataType'),
    attributes: field.attributes(Tag.Attributes),
    storageMasks,
  }),
  reply: objectReply,
  async handle(asked, context) {
    const { objectType: type, attributes: requested, secretDataType = 'Seed' } = asked
    if (type !== 'SymmetricKey' && type !== 'PrivateKey' && type !== 'SecretData')
      throw kmipFailure('InvalidField', `JoinSplitKey cannot create objects of type ${type}.`)
    const ids = asked.uniqueIdentifiers.map((node) => context.identifier(node))
    if (ids.length === 0) throw kmipFailure('MissingData', 'UniqueIdentifier is missing.')
    if (ids.length > maximumParts)
      throw kmipFailure('InvalidField', `At most ${maximumParts} parts can be joined.`)
    requireSoftwareStorage(asked.storageMasks)
    const { parts, hidden, shares } = await findParts(ids, context)
    if (shares.length > 0) await stageActivation(shares, context)
    const attributes = hidden ? sensitive(requested) : requested
    const [first] = parts
    if (first === undefined) throw kmipFailure('MissingData', 'UniqueIdentifier is missing.')
    const { algorithm, bits } = first
    const material = joinParts({
      ...first,
      parts: parts.map(({ part }) => part),
      length: type === 'PrivateKey' ? undefined : countBytes(first),
    })
    try {
      const node = keyNode({ type, material, algorithm, bits, secretDataType })
      const brought = await readBrought(type, node, attributes, context)
      const made = context.objects.create(newBrought(context, brought, attributes))
      brought.material?.fill(0)
      context.audit({ object: made.id, algorithm: first.method, details: { parts: ids } })
      context.placeholder = made.id
      return { uniqueIdentifier: made.id }
    } finally {
      material.fill(0)
      for (const { part } of parts) part.bytes.fill(0)
    }
  },
})

type Part = Awaited<ReturnType<typeof readPart>>

/** @throws InvalidField for parts of different keys, ObjectDestroyed, NotExtractable */
async function findParts(ids: readonly string[], context: KmipContext) {
  const parts: Part[] = []
  const shares: ManagedObject[] = []
  let hidden = false
  for (const id of ids) {
    const object = await context.permitted(id, 'get')
    const state = stateAt(object, context.now)
    if (state === 'Destroyed' || state === 'Destroyed_Compromised')
      throw kmipFailure('ObjectDestroyed', 'DENIED')
    if (readStoredWithTag(object, Tag.Extractable).some(({ value }) => value === false))
      throw kmipFailure('NotExtractable', 'DENIED')
    hidden ||= isSensitive(object)
    if (await isShare(object, context)) shares.push(object)
    const part = await readPart(object, context)
    const [first] = parts
    if (first !== undefined && !isDeepStrictEqual(describePart(first), describePart(part)))
      throw kmipFailure('InvalidField', 'The parts belong to different keys.')
    parts.push(part)
  }
  return { parts, hidden, shares }
}

function describePart({ part: _part, ...description }: Part): PartDescription {
  return description
}

/** Length of the key in bytes, since a number alone does not contain leading zeros. */
function countBytes({ algorithm, bits }: PartDescription): number | undefined {
  if (bits === undefined) return undefined
  const kind = algorithm === undefined ? undefined : symmetricKinds[algorithm]
  return kind?.bytes?.(bits) ?? Math.ceil(bits / 8)
}
