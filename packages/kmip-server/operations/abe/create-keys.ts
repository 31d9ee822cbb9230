import { parsePolicy } from '@warder/covercrypt'
import { keyFacts, requirePermitted } from '@warder/crypto'
import {
  type AbeForm,
  type AttributeSource,
  abeAlgorithm,
  abeBits,
  abeForm,
  abePolicyAttribute,
  abeThread,
  algorithmNode,
  asObjectId,
  getChainId,
  issueUserKey,
  type NewObjectRequest,
  newObjectId,
  type ObjectId,
  readClientId,
  stageNewObject,
  unrestricted,
} from '@warder/keys'
import { dateTime, Enumeration, findMember, integer, Tag, type TtlvNode } from '@warder/kmip-codec'
import { ordinaryAttributes, requireStructure, requireText } from '../../attributes/abe-request.ts'
import { readFormat } from '../../attributes/wanted-key.ts'
import type { PairReply } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { findLinkedMaster } from '../../locate/tagged-master.ts'

interface NewAbeKey {
  readonly type: 'PrivateKey' | 'PublicKey'
  readonly material: Uint8Array
  readonly form: AbeForm
  readonly attributes: readonly TtlvNode[]
  readonly id?: ObjectId
  readonly linkedId?: ObjectId
  readonly generated: boolean
  /** Source of the attributes. */
  readonly source?: AttributeSource
}

/**
 * Members for `stageNewObject` of an attribute-based key. Its usage mask is that of the client plus Unrestricted, as in
 * the deployed product: no other mask describes the use of these keys.
 * @throws kmipFailure KeyFormatTypeNotSupported
 */
export function newAbeKey({
  type,
  material,
  form,
  attributes,
  generated,
  ...ids
}: NewAbeKey): NewObjectRequest {
  requireFormat(attributes)
  const said = attributes.find(({ tag }) => tag === Tag.CryptographicUsageMask)
  const mask = typeof said?.value === 'number' ? said.value : 0
  const rest = ordinaryAttributes(attributes).filter(
    ({ tag }) =>
      tag !== Tag.CryptographicUsageMask && tag !== Tag.CryptographicAlgorithm && tag !== Tag.ObjectType,
  )
  return {
    type,
    algorithm: abeAlgorithm,
    bits: abeBits(material),
    material,
    form: { abe: form },
    attributes: [...rest, integer(Tag.CryptographicUsageMask, mask | unrestricted)],
    given: [algorithmNode('CoverCrypt')],
    generated,
    ...ids,
  }
}

/** Attributes common to both halves of a pair may name the format of either. */
const formats: ReadonlySet<string> = new Set(['CoverCryptSecretKey', 'CoverCryptPublicKey'])

function requireFormat(attributes: readonly TtlvNode[]): void {
  const wanted = readFormat(attributes)
  if (wanted !== undefined && !formats.has(wanted))
    throw kmipFailure(
      'KeyFormatTypeNotSupported',
      'This key format type is not allowed for attribute-based keys.',
    )
}

/**
 * CreateKeyPair of an attribute-based master key and its public key, from an access structure.
 * @param secret attributes of the master key; @param open of the public key
 */
export async function createMaster(
  context: KmipContext,
  secret: readonly TtlvNode[],
  open: readonly TtlvNode[],
): Promise<PairReply> {
  // Before the keys are made.
  requirePermitted(context.services.policy, keyFacts({ algorithm: abeAlgorithm }))
  const structure = requireStructure(secret)
  const { privateId, publicId } = identifiers(context, secret, open)
  const made = await abeThread.run({ type: 'createMaster', structure })
  const { master, publicKey, nextAttributeId } = made
  try {
    const masterForm = abeForm(master, { kind: 'master', nextAttributeId })
    const publicForm = abeForm(publicKey, { kind: 'public' })
    const ids = { id: privateId, linkedId: publicId, generated: true }
    stageNewObject(
      context,
      newAbeKey({ type: 'PrivateKey', material: master, form: masterForm, attributes: secret, ...ids }),
    )
    const others = { id: publicId, linkedId: privateId, generated: true }
    stageNewObject(
      context,
      newAbeKey({ type: 'PublicKey', material: publicKey, form: publicForm, attributes: open, ...others }),
    )
  } finally {
    master.fill(0)
  }
  context.audit({ object: privateId, algorithm: abeAlgorithm, details: { linked: publicId } })
  context.placeholder = privateId
  return { privateKeyUniqueIdentifier: privateId, publicKeyUniqueIdentifier: publicId }
}

/** If the client names only the master key, the public key gets the same name with `_pk`. */
function identifiers(context: KmipContext, secret: readonly TtlvNode[], open: readonly TtlvNode[]) {
  const said = readClientId(secret)
  const saidOpen = readClientId(open)
  const privateId = said ?? newObjectId(context.now)
  const follows = said !== undefined && (saidOpen === undefined || saidOpen === said)
  const publicId: ObjectId | undefined = follows
    ? asObjectId(`${said}_pk`)
    : (saidOpen ?? newObjectId(context.now))
  if (publicId === undefined || publicId === privateId)
    throw kmipFailure('InvalidAttributeValue', 'The keys of a pair must have different identifiers.')
  return { privateId, publicId }
}

/**
 * Create of a user key for a policy, from the master key in ParentLink, on which the caller needs `derivekey`. The key
 * is Active at once unless it has a later activation date.
 */
export async function createUserKey(
  context: KmipContext,
  wished: readonly TtlvNode[],
): Promise<{ readonly objectType: 'PrivateKey'; readonly uniqueIdentifier: string }> {
  requirePermitted(context.services.policy, keyFacts({ algorithm: abeAlgorithm }))
  const policy = requireText(wished, abePolicyAttribute)
  // Checked before the master key is read.
  parsePolicy(policy)
  const attributes = await Promise.all(wished.map((node) => findLinkedMaster(node, context)))
  const master = await context.permitted(requireParent(attributes, context), 'derivekey')
  const { material, form, rights } = await issueUserKey(context.objects, master, policy, context.now)
  const dated = attributes.some(({ tag }) => tag === Tag.ActivationDate)
  const activation = dated ? [] : [dateTime(Tag.ActivationDate, 0)]
  try {
    const request = { material, form, attributes: [...attributes, ...activation], generated: true }
    context.services.uses.note(getChainId(master), context.principal.name, context.now)
    const object = stageNewObject(context, newAbeKey({ type: 'PrivateKey', ...request }))
    context.audit({
      object: object.id,
      algorithm: abeAlgorithm,
      details: { master: master.id, policy, rights },
    })
    context.placeholder = object.id
    return { objectType: 'PrivateKey', uniqueIdentifier: object.id }
  } finally {
    material.fill(0)
  }
}

/** The master key that the one ParentLink names. @throws kmipFailure MissingData, InvalidField */
function requireParent(attributes: readonly TtlvNode[], context: KmipContext): string {
  const links = attributes.filter(
    (node) =>
      node.tag === Tag.Link &&
      node.type === 'Structure' &&
      findMember(node, Tag.LinkType)?.value === Enumeration.LinkType.ParentLink,
  )
  const [link, another] = links
  if (link?.type !== 'Structure')
    throw kmipFailure('MissingData', 'A user key must have a Link of type ParentLink to its master key.')
  if (another !== undefined) throw kmipFailure('InvalidField', 'A user key must have exactly one master key.')
  return context.identifier(findMember(link, Tag.LinkedObjectIdentifier))
}
