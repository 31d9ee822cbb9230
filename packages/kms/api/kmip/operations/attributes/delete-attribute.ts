import { isLegacy, Tag } from '@warder/kmip/tables'
import { findMembers, integer, type StructureNode, structure } from '@warder/kmip/ttlv'
import {
  type AttributeName,
  type AttributeState,
  deleteAttribute as deleted,
  type Edited,
  readAttributeName,
  readReferredName,
  type Which,
} from '../../attributes/index.ts'
import {
  type KmipContext,
  type KmipOperation,
  kmipFailure,
  objectRight,
  uniqueIdentifier,
} from '../../engine/index.ts'
import { attributeIndex, attributeState, currentAttribute, stageEdit } from './attribute-request.ts'

/**
 * KMIP 2.1 §6.1.13, KMIP 1.4 §4.16: deletes the instance in CurrentAttribute, or every instance of the named
 * attributes; for 1.x clients the instance with the given index, 0 by default.
 */
export const deleteAttribute: KmipOperation = {
  name: 'DeleteAttribute',
  access: objectRight('deleteattribute'),
  async act(payload, context) {
    const before = await attributeState(context, true)
    const edited = afterAll(before, readDeletions(payload, context), context.now)
    await stageEdit(context, before, edited)
    const index = attributeIndex(payload)
    return [
      uniqueIdentifier(context.object.id),
      structure(Tag.CurrentAttribute, [edited.node]),
      index === undefined ? undefined : integer(Tag.AttributeIndex, index),
    ]
  },
}

const maxReferences = 64

interface Deletion {
  readonly name: AttributeName
  readonly which: Which
}

function readDeletions(payload: StructureNode, context: KmipContext): readonly Deletion[] {
  const current = currentAttribute(payload, context)
  const references = findMembers(payload, Tag.AttributeReference)
  if (current !== undefined) {
    if (references.length > 0)
      throw kmipFailure('InvalidField', 'An attribute is deleted by its value or by its name, not by both.')
    return [{ name: readAttributeName(current), which: { current } }]
  }
  if (references.length === 0)
    throw kmipFailure('MissingData', 'Neither CurrentAttribute nor AttributeReference says what to delete.')
  if (references.length > maxReferences)
    throw kmipFailure('ServerLimitExceeded', `At most ${maxReferences} attributes can be deleted at once.`)
  const which = isLegacy(context.version) ? { index: attributeIndex(payload) ?? 0 } : {}
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
  if (first === undefined) throw kmipFailure('MissingData', 'Nothing says what to delete.')
  return { ...first, state }
}
