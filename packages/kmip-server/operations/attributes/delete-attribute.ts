import { isLegacy, Tag } from '@warder/kmip-codec'
import { deleteAttribute as deleted, type Edited, type Which } from '../../attributes/attribute-edit.ts'
import { type AttributeName, readAttributeName, readReferredName } from '../../attributes/attribute-name.ts'
import type { AttributeState } from '../../attributes/attribute-view.ts'
import { objectRight } from '../../engine/access.ts'
import { namedObject } from '../../engine/identifiers.ts'
import { defineOperation } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { type DecodedPayload, definePayload, field, repeated, required } from '../../payloads/payload.ts'
import { attributeState, checkIndex, readAttribute, stageEdit } from './attribute-request.ts'

const request = definePayload({
  uniqueIdentifier: namedObject,
  currentAttribute: field.attribute(Tag.CurrentAttribute),
  attributeReferences: repeated(field.reference(Tag.AttributeReference)),
  attributeIndex: field.integer(Tag.AttributeIndex),
})

/**
 * KMIP 2.1 §6.1.13, KMIP 1.4 §4.16: deletes the instance in CurrentAttribute, or every instance of the named
 * attributes; for 1.x clients the instance with the given index, 0 by default.
 */
export const deleteAttribute = defineOperation({
  name: 'DeleteAttribute',
  reach: ['change attributes', 'change tags'],
  access: objectRight('deleteattribute'),
  request,
  reply: definePayload({
    uniqueIdentifier: required(namedObject),
    currentAttribute: required(field.attribute(Tag.CurrentAttribute)),
    attributeIndex: field.integer(Tag.AttributeIndex),
  }),
  async handle(asked, context) {
    const before = await attributeState(context, true)
    const edited = afterAll(before, readDeletions(asked, context), context.now)
    await stageEdit(context, before, edited)
    return {
      uniqueIdentifier: context.object.id,
      currentAttribute: edited.node,
      attributeIndex: checkIndex(asked.attributeIndex),
    }
  },
})

const maxReferences = 64

interface Deletion {
  readonly name: AttributeName
  readonly which: Which
}

function readDeletions(
  { currentAttribute, attributeReferences: references, attributeIndex }: DecodedPayload<typeof request>,
  context: KmipContext,
): readonly Deletion[] {
  if (currentAttribute !== undefined) {
    const current = readAttribute(currentAttribute, context)
    if (references.length > 0)
      throw kmipFailure('InvalidField', 'CurrentAttribute and AttributeReference exclude each other.')
    return [{ name: readAttributeName(current), which: { current } }]
  }
  if (references.length === 0)
    throw kmipFailure('MissingData', 'CurrentAttribute or AttributeReference is required.')
  if (references.length > maxReferences)
    throw kmipFailure('ServerLimitExceeded', `At most ${maxReferences} attributes can be deleted at once.`)
  const which = isLegacy(context.version) ? { index: checkIndex(attributeIndex) ?? 0 } : {}
  return references.map((reference) => {
    const name = readReferredName(reference)
    if (name === undefined) throw kmipFailure('AttributeNotFound', 'There is no attribute of this name.')
    return { name, which }
  })
}

function afterAll(before: AttributeState, deletions: readonly Deletion[], now: number): Edited {
  let first: Edited | undefined
  let state = before
  for (const { name, which } of deletions) {
    const edited = deleted(state, name, which, now)
    first ??= edited
    state = edited.state
  }
  if (first === undefined) throw kmipFailure('MissingData', 'The attribute to delete is missing.')
  return { ...first, state }
}
