import {
  copySchedule,
  firstRotation,
  hasOwnSchedule,
  isScheduleChanged,
  type ManagedObject,
  type ObjectChange,
  otherHalfIds,
  requireKeptTags,
  requireTagChange,
  scheduleIn,
  typedMemberNames,
} from '@warder/keys'
import { findMember, structure, Tag, type TtlvNode, tagText, textString } from '@warder/kmip-codec'
import type { Edited } from '../../attributes/attribute-edit.ts'
import { isKnownAttribute } from '../../attributes/attribute-name.ts'
import type { AttributeState } from '../../attributes/attribute-view.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'

/** The attribute in NewAttribute or CurrentAttribute. @throws kmipFailure InvalidAttribute */
export function readAttribute(node: TtlvNode, context: KmipContext): TtlvNode {
  if (!isKnownAttribute(context.version, node.tag))
    throw kmipFailure(
      'InvalidAttribute',
      `${tagText(node.tag)} is not an attribute of KMIP ${context.version}.`,
    )
  return withIdentifier(node, context)
}

/** Replaces references (placeholder, result of this batch) by the identifier. */
export function withIdentifier(node: TtlvNode, context: KmipContext): TtlvNode {
  if (node.tag === Tag.UniqueIdentifier && node.type !== 'TextString')
    return textString(Tag.UniqueIdentifier, context.identifier(node))
  if (node.tag !== Tag.Link || node.type !== 'Structure') return node
  const linked = findMember(node, Tag.LinkedObjectIdentifier)
  if (linked === undefined || linked.type === 'TextString') return node
  return structure(
    node.tag,
    node.value.map((member) =>
      member === linked ? textString(Tag.LinkedObjectIdentifier, context.identifier(linked)) : member,
    ),
  )
}

/** Checks the index of the instance in a 1.x request, counted from 0. @throws kmipFailure InvalidField */
export function checkIndex(index: number | undefined): number | undefined {
  if (index !== undefined && index < 0) throw kmipFailure('InvalidField', 'AttributeIndex is negative.')
  return index
}

/** The object with its tags, which are needed only for vendor attributes. */
export async function attributeState(context: KmipContext, withTags: boolean): Promise<AttributeState> {
  const { object } = context
  return { object, tags: withTags ? await context.objects.tags(object) : [] }
}

/** Types of objects whose digest allows a caller to test guesses of their material. */
const secretTypes: ReadonlySet<ManagedObject['type']> = new Set<ManagedObject['type']>([
  'SymmetricKey',
  'PrivateKey',
  'SplitKey',
  'SecretData',
  'OpaqueObject',
  'PGPKey',
])

/**
 * Attributes without the digest, for a caller who may not get the material: an attacker could find a password or a PIN
 * from its digest by trying all values.
 */
export async function withoutDigest(
  context: KmipContext,
  { object }: AttributeState,
  nodes: readonly TtlvNode[],
): Promise<readonly TtlvNode[]> {
  if (!secretTypes.has(object.type) || !nodes.some(({ tag }) => tag === Tag.Digest)) return nodes
  if (await mayHaveMaterial(context, object)) return nodes
  return nodes.filter(({ tag }) => tag !== Tag.Digest)
}

async function mayHaveMaterial(context: KmipContext, object: ManagedObject): Promise<boolean> {
  return (await context.holds(object, 'get')) || context.holds(object, 'export')
}

/** Stages the changes of an edit. */
export async function stageEdit(
  context: KmipContext,
  before: AttributeState,
  { state }: Pick<Edited, 'state'>,
): Promise<void> {
  const after = context.objects.update(context.object, editableMembers(state.object))
  if (isScheduleChanged(before.object, after)) await stageSchedule(context, after)
  await requireKeptHalf(context, before.object, after)
  if (state.tags === before.tags) return
  requireKeptTags(context.services.roles, before.tags, state.tags)
  await requireTagChange(context.services, context.object, context.principal, before.tags, state.tags)
  context.objects.retag(context.object, state.tags)
}

/**
 * Tags that require approvals for one half of a pair cover both halves, so the link between the halves must stay.
 * @throws failure('forbidden')
 */
async function requireKeptHalf(
  context: KmipContext,
  before: ManagedObject,
  after: ManagedObject,
): Promise<void> {
  const kept = new Set(otherHalfIds(after))
  for (const id of otherHalfIds(before)) {
    const half = kept.has(id) ? undefined : await context.objects.read(id)
    if (half?.owner !== before.owner) continue
    requireKeptTags(context.services.roles, await context.objects.tags(half), [])
  }
}

/**
 * A schedule that is set on the first or the newest version of a key becomes the schedule of the key, and can be read
 * from both. A schedule on any other version has no effect on the key.
 */
async function stageSchedule({ objects }: KmipContext, said: ManagedObject): Promise<void> {
  if (!hasOwnSchedule(said)) return
  const key = said.chainId === undefined ? said : await objects.read(said.chainId)
  const newest = key?.newestId === undefined ? key : await objects.read(key.newestId)
  if (key === undefined || newest === undefined || (said.id !== key.id && said.id !== newest.id)) return
  for (const other of [key, newest])
    if (other.id !== said.id) objects.update(other, copySchedule(other, said))
  const schedule = scheduleIn(said)
  objects.update(key, { ...schedule, rotateAt: firstRotation(schedule, newest) })
}

/** The members that an edit of attributes can change. */
function editableMembers(object: ManagedObject): ObjectChange {
  const { attributes, linkedId, activationAt, deactivationAt } = object
  const typed = Object.fromEntries(typedMemberNames.map((name) => [name, object[name]]))
  return { ...typed, attributes, linkedId, activationAt, deactivationAt }
}
