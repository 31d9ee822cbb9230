import { draftVersion, isLegacy, Tag, type TtlvNode } from '@warder/kmip-codec'
import {
  addAttribute as added,
  deleteAttribute as deleted,
  type Edited,
  instancesCalled,
  modifyAttribute as modified,
  setAttribute as set,
  type Which,
} from '../../attributes/attribute-edit.ts'
import {
  type AttributeName,
  linkTypeIn,
  readAttributeName,
  readReferredName,
} from '../../attributes/attribute-name.ts'
import type { AttributeState } from '../../attributes/attribute-view.ts'
import { defineOperation, namedObject, objectReply, objectRight } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import {
  type DecodedPayload,
  definePayload,
  field,
  repeated,
  required,
  since,
} from '../../payloads/payload.ts'
import { attributeState, checkIndex, readAttribute, stageEdit } from './attribute-request.ts'

/** KMIP 2.1 §6.1.2: one more attribute, or one more instance of it. */
export const addAttribute = defineOperation({
  name: 'AddAttribute',
  reach: ['change attributes', 'change tags', 'change state', 'change versions', 'end object'],
  access: objectRight('addattribute'),
  request: definePayload({
    uniqueIdentifier: namedObject,
    newAttribute: required(field.attribute(Tag.NewAttribute)),
  }),
  reply: definePayload({
    uniqueIdentifier: required(namedObject),
    newAttribute: required(field.attribute(Tag.NewAttribute)),
    attributeIndex: field.integer(Tag.AttributeIndex),
  }),
  async handle({ newAttribute }, context) {
    const node = readAttribute(newAttribute, context)
    const before = await attributeState(context, node.tag === Tag.Attribute)
    const edited = added(before, node, context.now)
    await stageEdit(context, before, edited)
    // The answer contains the attribute for 1.x clients, which get it with its index.
    return {
      uniqueIdentifier: context.object.id,
      newAttribute: edited.node,
      attributeIndex: edited.index === 0 ? undefined : edited.index,
    }
  },
})

/** KMIP 2.1 §6.1.51: sets the value of an attribute, whether or not it had one. */
export const setAttribute = defineOperation({
  name: 'SetAttribute',
  reach: ['change attributes', 'change tags', 'change state', 'change versions', 'end object'],
  access: objectRight('setattribute'),
  request: definePayload({
    uniqueIdentifier: namedObject,
    newAttribute: required(field.attribute(Tag.NewAttribute)),
  }),
  reply: objectReply,
  async handle({ newAttribute }, context) {
    const node = readAttribute(newAttribute, context)
    const before = await attributeState(context, node.tag === Tag.Attribute)
    await stageEdit(context, before, setOne(before, node, context))
    return { uniqueIdentifier: context.object.id }
  },
})

/**
 * KMIP 2.1 §6.1.34, KMIP 1.4 §4.15: replaces the value of an existing instance. 2.x selects it by its value, 1.x by its
 * index, 0 by default.
 */
export const modifyAttribute = defineOperation({
  name: 'ModifyAttribute',
  reach: ['change attributes', 'change tags', 'change state', 'change versions', 'end object'],
  access: objectRight('modifyattribute'),
  request: definePayload({
    uniqueIdentifier: namedObject,
    currentAttribute: since('2.0', field.attribute(Tag.CurrentAttribute)),
    newAttribute: required(field.attribute(Tag.NewAttribute)),
    attributeIndex: field.integer(Tag.AttributeIndex),
  }),
  reply: definePayload({
    uniqueIdentifier: required(namedObject),
    newAttribute: required(field.attribute(Tag.NewAttribute)),
    attributeIndex: field.integer(Tag.AttributeIndex),
  }),
  async handle({ currentAttribute, newAttribute, attributeIndex }, context) {
    const node = readAttribute(newAttribute, context)
    const index = checkIndex(attributeIndex)
    const before = await attributeState(context, node.tag === Tag.Attribute)
    const current = currentAttribute && readAttribute(currentAttribute, context)
    const which = isLegacy(context.version)
      ? { index: index ?? 0 }
      : { current: namesKind(node, context) ? requireLink(before, node, current, context.now) : current }
    const edited = modified(before, node, which, context.now)
    await stageEdit(context, before, edited)
    return { uniqueIdentifier: context.object.id, newAttribute: edited.node, attributeIndex: index }
  },
})

/** Whether the request names one kind of link, each of which is an attribute of its own in 3.0. */
function namesKind({ tag }: TtlvNode, { version }: KmipContext): boolean {
  return version === draftVersion && tag === Tag.Link
}

function listLinks(state: AttributeState, node: TtlvNode, now: number): readonly TtlvNode[] {
  const linkType = linkTypeIn(node)
  return linkType === undefined
    ? []
    : instancesCalled(state, { tag: Tag.Link, vendor: undefined, linkType }, now)
}

/** SetAttribute: in 3.0 a link is set beside those of other kinds. @throws as `setAttribute` */
function setOne(state: AttributeState, node: TtlvNode, context: KmipContext): Edited {
  const { now } = context
  if (!namesKind(node, context)) return set(state, node, now)
  if (listLinks(state, node, now).length === 0) return added(state, node, now)
  return modified(state, node, { current: requireLink(state, node, undefined, now) }, now)
}

/**
 * The link that a request of 3.0 replaces: the named one, or the only one of its kind.
 * @throws kmipFailure AttributeNotFound, InvalidAttribute, MultiValuedAttribute
 */
function requireLink(
  state: AttributeState,
  node: TtlvNode,
  current: TtlvNode | undefined,
  now: number,
): TtlvNode {
  if (current !== undefined) {
    if (linkTypeIn(current) === linkTypeIn(node)) return current
    throw kmipFailure('InvalidAttribute', 'CurrentAttribute and NewAttribute are two different attributes.')
  }
  const [only, ...others] = listLinks(state, node, now)
  if (only === undefined) throw kmipFailure('AttributeNotFound', 'The object has no link of this kind.')
  if (others.length > 0)
    throw kmipFailure('MultiValuedAttribute', 'There are several links of this kind: name one of them.')
  return only
}

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
    const name = readReferredName(reference, context.version)
    if (name === undefined) throw kmipFailure('AttributeNotFound', 'There is no attribute of this name.')
    return { name, which }
  })
}

/** The links of a kind one by one: in earlier versions they are instances of one attribute, and keep their indexes. */
function eachLink(state: AttributeState, deletion: Deletion, now: number): readonly Deletion[] {
  const { linkType, tag } = deletion.name
  if (linkType === undefined) return [deletion]
  const links = instancesCalled(state, deletion.name, now)
  if (links.length === 0) throw kmipFailure('AttributeNotFound', 'The object has no link of this kind.')
  return links.map((current) => ({ name: { tag, vendor: undefined }, which: { current } }))
}

function afterAll(before: AttributeState, deletions: readonly Deletion[], now: number): Edited {
  let first: Edited | undefined
  let state = before
  for (const { name, which } of deletions.flatMap((deletion) => eachLink(before, deletion, now))) {
    const edited = deleted(state, name, which, now)
    first ??= edited
    state = edited.state
  }
  if (first === undefined) throw kmipFailure('MissingData', 'The attribute to delete is missing.')
  return { ...first, state }
}
