import {
  type AbeForm,
  type AttributeSource,
  abeAlgorithm,
  abePolicyAttribute,
  buildNewObject,
  checkValue,
  type NewObject,
  requireRule,
  requireSoftwareStorage,
} from '@warder/keys'
import {
  byteString,
  findMember,
  optionalStructure,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  tagText,
  valueName,
} from '@warder/kmip-codec'
import { isEncryptedPkcs8, openPkcs8 } from '@warder/pki'
import { readText } from '../../attributes/abe-request.ts'
import { defaultUsageMask } from '../../attributes/wanted-key.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { readKeyBlock } from '../../key-blocks/key-block.ts'
import { toStoredColumns } from '../../key-blocks/object-shape.ts'
import { type ObjectHints, readManagedObject, type StoredObject } from '../../key-blocks/read-object.ts'
import type { KmipObjectType, StoredShape } from '../../key-blocks/stored-shape.ts'
import { rebuildObject } from '../../key-blocks/wrap.ts'
import { newAbeKey } from '../abe/create-keys.ts'
import { findLinkedPassword } from './linked-password.ts'

/** The object of this type among those in a request. @throws KmipDecodeError, kmipFailure MissingData, InvalidField */
export function objectNode(objects: readonly TtlvNode[], type: KmipObjectType): StructureNode {
  const node = optionalStructure({ value: objects }, Tag[type])
  if (node !== undefined) return node
  const [other] = objects
  if (other !== undefined)
    throw kmipFailure('InvalidField', `The object is a ${tagText(other.tag)}, not a ${type}.`)
  throw kmipFailure('MissingData', `${type} is missing.`)
}

/** Facts from the attributes of a request about the key itself. */
export function readHints(attributes: readonly TtlvNode[]): ObjectHints {
  const readNamed = (tag: number) => {
    const node = attributes.find((attribute) => attribute.tag === tag)
    return typeof node?.value === 'number' ? node.value : undefined
  }
  const domain = attributes.find(({ tag }) => tag === Tag.CryptographicDomainParameters)
  const curve = domain?.type === 'Structure' ? findMember(domain, Tag.RecommendedCurve) : undefined
  return {
    algorithm: valueName('CryptographicAlgorithm', readNamed(Tag.CryptographicAlgorithm) ?? 0),
    bits: readNamed(Tag.CryptographicLength),
    curve: curve?.type === 'Enumeration' ? valueName('RecommendedCurve', curve.value) : undefined,
    certificateType: valueName('CertificateType', readNamed(Tag.CertificateType) ?? 0),
  }
}

/** Reads and checks the object of a client. The caller wipes `material`. */
export async function readBrought(
  type: KmipObjectType,
  node: StructureNode,
  attributes: readonly TtlvNode[],
  context: KmipContext,
): Promise<StoredObject> {
  requireSoftwareStorage(attributes)
  const { fips } = context.services
  const read = (plain: StructureNode) => readManagedObject(type, plain, readHints(attributes), { fips })
  if (type !== 'PrivateKey') return read(node)
  const { node: plain, opened } = await withoutPassword(node, attributes, context)
  try {
    return await read(plain)
  } finally {
    opened?.fill(0)
  }
}

/**
 * An object from a client, owned by the caller.
 * @param source origin of the attributes
 */
export function newBrought(
  context: KmipContext,
  brought: StoredObject,
  attributes: readonly TtlvNode[],
  source: AttributeSource = 'client',
): NewObject {
  const { shape, material } = brought
  const columns = toStoredColumns(brought)
  if (shape.abe !== undefined) return newAbeBrought(context, brought, shape.abe, attributes, source)
  if (material === undefined && !attributes.some(({ tag }) => tag === Tag.KeyValueLocation))
    throw kmipFailure('KeyValueNotPresent', 'A key without its value must have a KeyValueLocation.')
  const links = columns.given.filter(({ tag }) => tag === Tag.Link)
  const created = buildNewObject(context, {
    type: shape.objectType,
    ...columns,
    given: [
      ...columns.given.filter(({ tag }) => tag !== Tag.Link),
      // A registered object may have been returned by another system, which only the client knows (KMIP 2.1 §4.24).
      ...attributes.filter(({ tag, type }) => tag === Tag.Fresh && type === 'Boolean'),
      ...readGenerator(attributes),
    ],
    attributes: [...attributes.filter((node) => !isSettled(node, shape)), ...links],
    source,
    material,
    defaultMask: defaultUsageMask(shape),
  })
  const { id, algorithm } = created.object
  context.audit({ object: id, ...(algorithm !== undefined && { algorithm }) })
  return created
}

/** An attribute-based key: the policy of a user key is taken from the attributes, since its bytes do not contain it. */
function newAbeBrought(
  context: KmipContext,
  { shape, material }: StoredObject,
  form: AbeForm,
  attributes: readonly TtlvNode[],
  source: AttributeSource,
): NewObject {
  const type = shape.objectType === 'PublicKey' ? 'PublicKey' : 'PrivateKey'
  if (material === undefined) throw kmipFailure('KeyValueNotPresent', 'The key has no value.')
  const policy = form.kind === 'user' ? readText(attributes, abePolicyAttribute) : undefined
  const known = { ...form, ...(policy !== undefined && { policy }) }
  const created = buildNewObject(
    context,
    newAbeKey({ type, material, form: known, attributes, generated: false, source }),
  )
  context.audit({
    object: created.object.id,
    algorithm: abeAlgorithm,
    ...(policy !== undefined && { details: { policy } }),
  })
  return created
}

/** How a registered object was generated, if the client declares it (KMIP 2.1 §4.46). */
function readGenerator(attributes: readonly TtlvNode[]): readonly TtlvNode[] {
  const [node, ...more] = attributes.filter(({ tag }) => tag === Tag.RandomNumberGenerator)
  if (more.length > 0) throw kmipFailure('AttributeSingleValued', 'DENIED')
  return node === undefined ? [] : [checkValue(requireRule(node.tag), node)]
}

/** Attributes that are already handled: they were compared with the object itself. */
function isSettled({ tag }: TtlvNode, { objectType }: StoredShape): boolean {
  if (tag === Tag.Fresh || tag === Tag.RandomNumberGenerator) return true
  return tag === Tag.CertificateType && objectType === 'Certificate'
}

/**
 * Decrypts a private key that was received as encrypted PKCS#8 (RFC 5958 §3), with the password of the PKCS#12 password
 * link among the attributes. Other objects are returned unchanged.
 * @returns also the bytes, which the caller wipes after reading the key
 * @throws BadPassword (also without a link), InvalidField, FeatureNotSupported
 */
async function withoutPassword(
  node: StructureNode,
  attributes: readonly TtlvNode[],
  context: KmipContext,
): Promise<{ readonly node: StructureNode; readonly opened: Uint8Array | undefined }> {
  const { format, value } = readKeyBlock(node)
  const encrypted =
    format === 'PKCS_8' && value !== undefined && !(value instanceof Uint8Array)
      ? value.material.value
      : undefined
  if (value === undefined || !(encrypted instanceof Uint8Array) || !isEncryptedPkcs8(encrypted))
    return { node, opened: undefined }
  const password = await findLinkedPassword(context, attributes)
  if (password === undefined)
    throw kmipFailure(
      'BadPassword',
      'An encrypted PKCS#8 key requires a PKCS#12 password link to its password.',
    )
  const opened = await openPkcs8(encrypted, password)
  const material = byteString(Tag.KeyMaterial, opened)
  const members = (value as Exclude<typeof value, Uint8Array>).node.value
  const plain = structure(
    Tag.KeyValue,
    members.map((member) => (member.tag === Tag.KeyMaterial ? material : member)),
  )
  const { attributes: within } = value as Exclude<typeof value, Uint8Array>
  return { node: rebuildObject(node, { material, attributes: within, node: plain }), opened }
}
