import { asObjectId, identifierTaken, type ObjectId, requireNoApproval } from '@warder/keys'
import { findMember, type StructureNode, Tag, type TtlvNode, textString } from '@warder/kmip-codec'
import { waitsForDestruction } from '../../engine/approval.ts'
import { creates, defineOperation, namedObject, objectReply } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { readKeyBlock } from '../../key-blocks/key-block.ts'
import type { StoredObject } from '../../key-blocks/read-object.ts'
import { unwrapObject } from '../../key-blocks/wrap.ts'
import { definePayload, field, repeated, required } from '../../payloads/payload.ts'
import { adoptUserKeys, withFormerIds, withMaster } from '../abe/user-keys.ts'
import { newBrought, objectNode, readBrought } from '../objects/registered-object.ts'
import { toUnwrap, wrappingKeys } from '../objects/wrapping-keys.ts'
import { type BroughtFile, fileIn, linkToKey, readFile, stageCertificates } from './certificate-files.ts'
import { asImported, type SortedAttributes, sortImported } from './imported-attributes.ts'

/**
 * Import (KMIP 2.1 §6.1.25): an object with its identifier and all its attributes from another server. It may replace
 * an object of the caller, never that of another user.
 */
export const importObject = defineOperation({
  name: 'Import',
  reach: ['make object', 'reveal plaintext'],
  asks: ['decrypt', 'encrypt', 'mac', 'signatureverify'],
  access: creates,
  request: definePayload({
    uniqueIdentifier: namedObject,
    objectType: required(field.named('ObjectType')),
    replaceExisting: field.flag(Tag.ReplaceExisting),
    keyWrapType: field.named('KeyWrapType'),
    attributes: field.attributes(Tag.Attributes),
    objects: repeated(field.object()),
  }),
  reply: objectReply,
  async handle(request, context) {
    const { objectType: type, replaceExisting: replace } = request
    const given = withoutEncodedLength(request)
    if (type === 'Template') throw kmipFailure('InvalidField', 'Templates cannot be imported: use Register.')
    const id = readRequestedId(request.uniqueIdentifier?.value)
    const attributes = sortImported(given.attributes)
    let node = objectNode(given.objects, type)
    if (request.keyWrapType === 'NotWrapped' && findMember(node, Tag.KeyBlock))
      node = await inClear(context, node)
    const wish: Placement = { attributes, id, replace }
    const file = type === 'PrivateKey' ? fileIn(node) : undefined
    const stored =
      file === undefined
        ? await place(context, await readBrought(type, node, attributes.ordinary, context), wish)
        : await placeFile(context, await readFile(file, attributes.ordinary, context), wish)
    context.placeholder = stored
    return { uniqueIdentifier: stored }
  },
})

/** Identifier and columns of an imported object. */
interface Placement {
  readonly attributes: SortedAttributes
  readonly id: ObjectId | undefined
  readonly replace: boolean
}

/** An empty identifier requests a new one. @throws InvalidField */
function readRequestedId(value: unknown): ObjectId | undefined {
  if (value === undefined || value === '') return undefined
  const id = typeof value === 'string' && value !== '*' ? asObjectId(value) : undefined
  if (id === undefined)
    throw kmipFailure('InvalidField', 'UniqueIdentifier is not a valid identifier of an object.')
  return id
}

async function inClear(context: KmipContext, node: ReturnType<typeof objectNode>) {
  const { wrapping } = readKeyBlock(node)
  if (wrapping === undefined) return node
  return unwrapObject(node, await wrappingKeys(context, wrapping, toUnwrap), context.services.policy)
}

/** The key of a PKCS#12 file; its certificates become objects of their own. */
async function placeFile(context: KmipContext, file: BroughtFile, wish: Placement): Promise<ObjectId> {
  const staged = await stageCertificates(context, file)
  const ordinary = [...wish.attributes.ordinary, ...file.attributes, ...staged.links]
  const id = await place(context, file.key, { ...wish, attributes: { ...wish.attributes, ordinary } })
  linkToKey(context, staged, id)
  return id
}

/** Stages the object, new or as the replacement of the caller's object, and wipes the imported bytes. */
async function place(context: KmipContext, brought: StoredObject, wish: Placement): Promise<ObjectId> {
  const { attributes, id, replace } = wish
  const said = id === undefined ? [] : [textString(Tag.UniqueIdentifier, id)]
  const ordinary = [...attributes.ordinary.filter(({ tag }) => tag !== Tag.UniqueIdentifier), ...said]
  try {
    const own = newBrought(context, brought, ordinary, 'server')
    const fresh = asImported(await withMaster(context, own), attributes, context.now)
    const before = id === undefined ? undefined : await context.objects.read(id)
    if (before === undefined) {
      // The object keeps its identifier from the other server, which may use the same form of identifiers (KMIP 2.1
      // §6.1.25).
      const chosenId = { by: context.principal.name, isMoved: true }
      const object = context.objects.create(id === undefined ? fresh : { ...fresh, chosenId })
      await adoptUserKeys(context, object)
      return object.id
    }
    // Another user's object is never replaced, and an object of the caller only if the request allows it.
    if (!replace || before.owner !== context.principal.name) throw identifierTaken()
    if (before.chainId !== undefined)
      throw kmipFailure('InvalidField', 'The existing object is a key with versions: it cannot be replaced.')
    if (before.type !== fresh.object.type)
      throw kmipFailure('InvalidField', `The existing object is a ${before.type}.`)
    const created = withFormerIds(fresh, before)
    await requireNoApproval(context.services.roles, 'destroy', [before])
    if (before.destroyedAt === undefined && (await waitsForDestruction(context, before)))
      throw kmipFailure('PermissionDenied', 'The object is scheduled for destruction: it cannot be replaced.')
    const { id: _id, type: _type, owner: _owner, createdAt: _createdAt, ...columns } = created.object
    // A replacement does not enable a disabled object.
    const { disabledAt } = before
    context.objects.update(before, { ...columns, disabledAt }, created.material ?? null)
    context.objects.retag(before, created.tags)
    return before.id
  } finally {
    brought.material?.fill(0)
  }
}

/** The members of an Import that name the length of a key. */
interface Imported {
  readonly attributes: readonly TtlvNode[]
  readonly objects: readonly TtlvNode[]
}

/**
 * The members of an Import without a CryptographicLength that is the length of the key's DER encoding.
 * cloudproof_kms_js sends that of private keys (`packages/kmip-codec/json/tolerances.ts`). No key is as long as its encoding,
 * so no correct length is dropped: the length of the key itself is stored.
 */
function withoutEncodedLength(imported: Imported): Imported {
  const { attributes, objects } = imported
  const key = objects.find(({ tag }) => tag === Tag.PrivateKey)
  const block = key && structureIn(key, Tag.KeyBlock)
  const value = block && structureIn(block, Tag.KeyValue)
  const material = value && findMember(value, Tag.KeyMaterial)
  if (block === undefined || material?.type !== 'ByteString') return imported
  const encoded = material.value.length * 8
  const length = findMember(block, Tag.CryptographicLength)
  if (encoded === 0 || length?.value !== encoded) return imported
  return { attributes: without(attributes, encoded), objects: without(objects, encoded) }
}

function structureIn(node: TtlvNode, tag: number): StructureNode | undefined {
  const member = node.type === 'Structure' ? findMember(node, tag) : undefined
  return member?.type === 'Structure' ? member : undefined
}

/** Removes the length from the key block and from the attributes inside and beside it. */
function without(nodes: readonly TtlvNode[], bits: number): readonly TtlvNode[] {
  return nodes
    .filter(({ tag, value }) => tag !== Tag.CryptographicLength || value !== bits)
    .map((node) => (node.type === 'Structure' ? { ...node, value: without(node.value, bits) } : node))
}
