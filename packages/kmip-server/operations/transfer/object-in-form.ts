import {
  attributeRule,
  findPrivateKeyId,
  getChainId,
  type ManagedObject,
  readStoredWithTag,
  readVendorName,
  stateAt,
} from '@warder/keys'
import {
  draftVersion,
  enumeration,
  fromLegacyName,
  isLegacy,
  legacyVendor,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  tagByName,
  toLegacyAttributes,
} from '@warder/kmip-codec'
import { instancesCalled } from '../../attributes/attribute-edit.ts'
import { indexNodes } from '../../attributes/attribute-index.ts'
import { isKnownAttribute, readReferredName } from '../../attributes/attribute-name.ts'
import { requireExportApproval, requireExtractable } from '../../engine/approval.ts'
import { namedObject } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { readKeyBlock } from '../../key-blocks/key-block.ts'
import { toKeyFormat } from '../../key-blocks/key-format.ts'
import {
  readWrappingSpecification,
  specificationFields,
  type WrappingSpecification,
  writeWrappingData,
} from '../../key-blocks/key-wrapping.ts'
import { readShape } from '../../key-blocks/object-shape.ts'
import { readManagedObject } from '../../key-blocks/read-object.ts'
import type { StoredShape } from '../../key-blocks/stored-shape.ts'
import { unwrapObject, wrapKeyValue } from '../../key-blocks/wrap.ts'
import {
  keyInForm,
  keyObject,
  objectWithoutValue,
  toStoredBlock,
  writeManagedObject,
} from '../../key-blocks/write-object.ts'
import { type DecodedPayload, definePayload, field } from '../../payloads/payload.ts'
import { attributeState } from '../attributes/attribute-request.ts'
import { toUnwrap, wrappingKeyNamed, wrappingKeys } from '../objects/wrapping-keys.ts'
import { isPkcs12, type WantedObject, writeChain, writeFile } from './certificate-files.ts'

/** Result of Get and Export. */
export interface GivenObject {
  /** The requested object; for a certificate as a PKCS#12 file its private key. */
  readonly object: ManagedObject
  readonly node: StructureNode
}

/** The members of a request of Get and Export. */
export const wantedRequest = definePayload({
  uniqueIdentifier: namedObject,
  keyFormatType: field.code(Tag.KeyFormatType),
  keyWrapType: field.named('KeyWrapType'),
  keyCompressionType: field.named('KeyCompressionType'),
  keyWrappingSpecification: field.group(Tag.KeyWrappingSpecification, specificationFields),
})

/** @throws KmipDecodeError, KeyFormatTypeNotSupported, InvalidField */
export function readWanted(request: DecodedPayload<typeof wantedRequest>): WantedObject {
  const specification = request.keyWrappingSpecification
  return {
    format: toKeyFormat(request.keyFormatType),
    compression: request.keyCompressionType,
    wrapType: request.keyWrapType,
    specification: specification && readWrappingSpecification(specification),
  }
}

/**
 * Returns the object of the row in the requested form, wrapped on request. A certificate as a PKCS#12 file includes its
 * private key, on which the caller needs the same right.
 *
 * A Sensitive object is returned only wrapped, by the server or as it was registered; an object that is not Extractable
 * is never returned (KMIP 2.1 §4.55, §4.23).
 * @throws ObjectDestroyed, Sensitive, NotExtractable, KeyValueNotPresent, KeyFormatTypeNotSupported …
 */
export async function objectInForm(
  context: KmipContext,
  wanted: WantedObject,
  right: 'get' | 'export',
): Promise<GivenObject> {
  const object = isPkcs12(wanted.format) ? await findFileKey(context, right) : context.object
  return { object, node: await inForm(context, object, wanted) }
}

/** The private key of the row's certificate, if it has one that the caller may get; else the row's object. */
async function findFileKey(context: KmipContext, right: 'get' | 'export'): Promise<ManagedObject> {
  const { object } = context
  const id = object.type === 'Certificate' ? findPrivateKeyId(object) : undefined
  if (id === undefined) return object
  const key = await context.permitted(id, right)
  context.audit({ details: { private_key: key.id } })
  return key
}

async function inForm(
  context: KmipContext,
  object: ManagedObject,
  wanted: WantedObject,
): Promise<StructureNode> {
  const { objects, now } = context
  const state = stateAt(object, now)
  if (state === 'Destroyed' || state === 'Destroyed_Compromised')
    throw kmipFailure('ObjectDestroyed', 'DENIED')
  requireExtractable(object)
  const shape = readShape(object)
  if (wanted.specification !== undefined && !wrappable.has(shape.objectType))
    throw kmipFailure('InvalidObjectType', `An object of type ${object.type} cannot be wrapped.`)
  const asFile = isPkcs12(wanted.format)
  const encrypts = wanted.specification !== undefined && wanted.specification.method !== 'MACSign' && !asFile
  const staysWrapped =
    shape.wrapped === true && wanted.wrapType !== 'NotWrapped' && wanted.specification === undefined
  if (readFlag(object, Tag.Sensitive) === true && !encrypts && !staysWrapped)
    throw kmipFailure('Sensitive', 'DENIED')
  const encryption = encrypts ? wanted.specification?.encryption : undefined
  await requireExportApproval(
    context,
    object,
    async () => encryption && wrappingKeyNamed(context, encryption),
  )
  context.services.uses.note(getChainId(object), context.principal.name, now)
  const material = await objects.material(object)
  if (material === undefined) return withoutValue(shape, wanted)
  try {
    if (asFile) return await writeFile(context, object, material, wanted)
    if (wanted.format === 'PKCS_7' && shape.certificateType === 'X_509')
      return await writeChain(context, material)
    return shape.wrapped === true
      ? await wrapInForm(context, shape, material, wanted)
      : await clearInForm(context, shape, material, wanted)
  } catch (error) {
    material.fill(0)
    throw error
  }
}

/** For a key of which only the attributes are stored, the key block without its value (KMIP 2.1 §4.28). */
function withoutValue(shape: StoredShape, wanted: WantedObject): StructureNode {
  const asIs = wanted.format === undefined || wanted.format === shape.keyFormat
  if (!asIs || wanted.compression !== undefined || wanted.specification !== undefined)
    throw kmipFailure('KeyValueNotPresent', 'The value of the key is not stored on this server.')
  return objectWithoutValue(shape)
}

const wrappable: ReadonlySet<string> = new Set([
  'SymmetricKey',
  'PrivateKey',
  'PublicKey',
  'SecretData',
  'SplitKey',
  'PGPKey',
])

function readFlag(object: ManagedObject, tag: number): boolean | undefined {
  const [node] = readStoredWithTag(object, tag)
  return node?.type === 'Boolean' ? node.value : undefined
}

async function clearInForm(
  context: KmipContext,
  shape: StoredShape,
  material: Uint8Array,
  wanted: WantedObject,
): Promise<StructureNode> {
  const { specification } = wanted
  if (specification === undefined) return writeManagedObject(shape, material, wanted)
  const { policy } = context.services
  const keys = await wrappingKeys(context, specification, { wrap: true, bytes: material.length })
  if (keys.identifiers.encryption === context.object.id)
    throw kmipFailure('InvalidField', 'A key cannot wrap itself.')
  const attributes = await listWrappedAttributes(context, specification)
  if (shape.form === 'block') {
    const node = writeManagedObject(shape, material, wanted)
    return wrapBlock(node, attributes, specification, keys, context)
  }
  const key = keyInForm(shape, material, wanted)
  const { value, data } = await wrapKeyValue(key.material, attributes, specification, keys, policy)
  return keyObject(shape, key, value, writeWrappingData(data, keys.identifiers))
}

/** Wraps the key in an object that is stored as received; the rest of the object is unchanged. */
async function wrapBlock(
  object: StructureNode,
  attributes: readonly TtlvNode[],
  specification: WrappingSpecification,
  keys: Awaited<ReturnType<typeof wrappingKeys>>,
  context: KmipContext,
): Promise<StructureNode> {
  const { value: plain } = readKeyBlock(object)
  if (plain === undefined || plain instanceof Uint8Array)
    throw kmipFailure('KeyValueNotPresent', 'The value of the key is not stored on this server.')
  const { value, data } = await wrapKeyValue(
    plain.material,
    attributes,
    specification,
    keys,
    context.services.policy,
  )
  const wrapping = writeWrappingData(data, keys.identifiers)
  const members = object.value.map((member) =>
    member.tag === Tag.KeyBlock && member.type === 'Structure'
      ? structure(Tag.KeyBlock, [
          ...member.value.map((inner) => (inner.tag === Tag.KeyValue ? value : inner)),
          wrapping,
        ])
      : member,
  )
  return { ...object, value: members }
}

/**
 * An object that was registered wrapped. It is returned unchanged if the request names no other form; otherwise it is
 * unwrapped with the wrapping key, if that is stored here and the caller may use it, converted to the requested form,
 * and wrapped again in the same way.
 */
async function wrapInForm(
  context: KmipContext,
  shape: StoredShape,
  material: Uint8Array,
  wanted: WantedObject,
): Promise<StructureNode> {
  const stored = toStoredBlock(material)
  const same =
    (wanted.format === undefined || wanted.format === shape.keyFormat) &&
    (wanted.compression === undefined || wanted.compression === shape.compression)
  if (same && wanted.specification === undefined && wanted.wrapType !== 'NotWrapped') return stored
  const { wrapping } = readKeyBlock(stored)
  if (wrapping === undefined) throw kmipFailure('GeneralFailure', 'The stored object cannot be read.')
  const { policy, fips } = context.services
  const opened = await unwrapObject(stored, await wrappingKeys(context, wrapping, toUnwrap), policy)
  const { algorithm, bits, curve } = shape
  const clear = await readManagedObject(shape.objectType, opened, { algorithm, bits, curve }, { fips })
  if (clear.material === undefined)
    throw kmipFailure('KeyValueNotPresent', 'The value of the key is not stored on this server.')
  const again =
    wanted.specification ?? (wanted.wrapType === 'NotWrapped' ? undefined : { ...wrapping, attributes: [] })
  return clearInForm(context, clear.shape, clear.material, { ...wanted, specification: again })
}

/**
 * The standard and vendor attributes to wrap with the key (KMIP 2.1 §7.18), as members of its KeyValue in the form of
 * the client's version: the form cannot change once they are wrapped or authenticated (KMIP 1.4 §2.1.4, KMIP 2.1
 * §3.1.3). Attributes that the key does not have are omitted.
 */
async function listWrappedAttributes(
  context: KmipContext,
  { attributes }: WrappingSpecification,
): Promise<readonly TtlvNode[]> {
  if (attributes.length > 0 && context.version === draftVersion)
    throw kmipFailure('FeatureNotSupported', 'Attributes are not wrapped with a key for clients of KMIP 3.0.')
  const names = attributes.flatMap(
    (node) =>
      readReferredName(node.type === 'TextString' ? referenceTo(node.value) : node, context.version) ?? [],
  )
  const needsTags = names.some(({ tag }) => tag === Tag.Attribute)
  const state = await attributeState(context, needsTags)
  const { now, version } = context
  const nodes = names
    .filter(({ tag }) => isKnownAttribute(version, tag))
    .flatMap((name) => instancesCalled(state, name, now))
  if (nodes.length === 0) return []
  if (!isLegacy(version)) return [structure(Tag.Attributes, nodes)]
  return toLegacyAttributes(version, structure(Tag.Attributes, indexNodes(state.object, nodes)))
}

/** AttributeName in the 1.x form (`x-…` is the client's own) or as the name of the tag. */
function referenceTo(name: string): TtlvNode {
  const reference = fromLegacyName(name)
  if (readVendorName(reference)?.vendor !== legacyVendor) return reference
  const tag = tagByName(name)
  return tag === undefined || attributeRule(tag) === undefined
    ? reference
    : enumeration(Tag.AttributeReference, tag)
}
