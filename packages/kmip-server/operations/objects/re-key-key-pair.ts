import { keyFacts, requirePermitted } from '@warder/crypto'
import {
  abeAlgorithm,
  findLinkedHalf,
  findLinkTarget,
  forgetsSecrets,
  formatAction,
  linkReplacement,
  type ManagedObject,
  nextHsmTarget,
  pairPlan,
  readAction,
  requireHardwareStorage,
  requirePartsMayGo,
  requireReplaceable,
  rotateMaster,
} from '@warder/keys'
import { Tag, type TtlvNode } from '@warder/kmip-codec'
import { actionAttribute, requireJson } from '../../attributes/abe-request.ts'
import { pairStorageMasks, requireSoftwarePair } from '../../attributes/wanted-key.ts'
import {
  defineOperation,
  objectRight,
  type PairReply,
  pairAttributes,
  pairReply,
} from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { readShape } from '../../key-blocks/object-shape.ts'
import { definePayload, field } from '../../payloads/payload.ts'
import { mergeAttributes, stagePair } from './create-key-pair.ts'
import { stageHsmPair } from './hsm-keys.ts'
import { copyAttributes, offset, readOffset } from './replacement.ts'

/** ReKeyKeyPair (KMIP 2.1 §6.1.47): a new pair replaces an existing one, half by half. */
export const reKeyKeyPair = defineOperation({
  name: 'ReKeyKeyPair',
  reach: ['change versions'],
  asks: ['modifyattribute', 'setattribute'],
  access: objectRight('rekey', { member: Tag.PrivateKeyUniqueIdentifier, creates: true }),
  request: definePayload({
    privateKeyUniqueIdentifier: field.identifier(Tag.PrivateKeyUniqueIdentifier),
    offset,
    ...pairAttributes,
    storageMasks: pairStorageMasks,
  }),
  reply: pairReply,
  async handle(asked, context) {
    const { common, ofPrivate, ofPublic } = asked
    const { object } = context
    if (object.type !== 'PrivateKey')
      throw kmipFailure('InvalidObjectType', `ReKeyKeyPair does not support objects of type ${object.type}.`)
    if (object.form.abe !== undefined) return rotate([...common, ...ofPrivate], context)
    requireReplaceable(context, object)
    const hsm = nextHsmTarget(context.objects, object, context.now)
    if (hsm === undefined) requireSoftwarePair(asked.storageMasks)
    else requireHardwareStorage(asked.storageMasks)
    const half = await findLinkedHalf(context, object)
    const open = half === undefined ? undefined : await context.permitted(half, 'rekey')
    if (open !== undefined) requireReplaceable(context, open)
    const { algorithm, bits, curve } = readShape(object)
    if (algorithm === undefined)
      throw kmipFailure('InvalidObjectType', 'The algorithm of this key is unknown.')
    const plan = pairPlan({ algorithm, bits, curve, fips: context.services.fips })
    const seconds = readOffset(asked.offset)
    const wishes = (own: readonly TtlvNode[]) => mergeAttributes(common, own)
    const secretAttributes = await copyAttributes(context, object, wishes(ofPrivate), seconds)
    const openWishes = wishes(ofPublic)
    const openAttributes =
      open === undefined ? openWishes : await copyAttributes(context, open, openWishes, seconds)
    const { privateId, publicId } =
      hsm === undefined
        ? await stagePair(context, plan, secretAttributes, openAttributes)
        : await stageHsmPair(context, plan, secretAttributes, openAttributes, hsm)
    await replace(context, object, privateId)
    if (open !== undefined) await replace(context, open, publicId)
    else context.objects.entrust({ id: publicId }, object.owner)
    context.audit({ object: object.id, algorithm, details: { replacement: privateId, linked: publicId } })
    context.placeholder = privateId
    return { privateKeyUniqueIdentifier: privateId, publicKeyUniqueIdentifier: publicId }
  },
})

async function replace(context: KmipContext, replaced: ManagedObject, id: string): Promise<void> {
  const made = await context.objects.read(id)
  if (made === undefined) throw kmipFailure('GeneralFailure', 'The new key does not exist.')
  await linkReplacement(context, replaced, made)
}

/**
 * ReKeyKeyPair of an attribute-based master key: the action changes the pair in place, and the user keys of the master
 * key are refreshed in the same commit.
 * @param wishes attributes of the pair and of its private half
 */
async function rotate(wishes: readonly TtlvNode[], context: KmipContext): Promise<PairReply> {
  const { object: master, services, objects, now } = context
  requirePermitted(services.policy, keyFacts({ algorithm: abeAlgorithm }))
  const action = readAction(requireJson(wishes, actionAttribute))
  const linked = master.linkedId ?? findLinkTarget(master, 'PublicKeyLink')
  const publicKey = linked === undefined ? undefined : await objects.read(linked)
  if (publicKey?.form.abe?.kind !== 'public' || publicKey.owner !== master.owner)
    throw kmipFailure('InvalidField', 'The public key of this master key is not stored on this server.')
  await context.permitted(publicKey.id, 'rekey')
  if (forgetsSecrets(action)) await requirePartsMayGo(services.roles, master)
  const done = await rotateMaster(
    objects,
    services.db,
    { master, publicKey, caller: context.principal.name },
    action,
    now,
  )
  context.audit({
    object: master.id,
    algorithm: abeAlgorithm,
    details: {
      linked: publicKey.id,
      action: formatAction(action).slice(0, 1024),
      refreshed: done.refreshed.length,
      ...(done.foreign.length > 0 && { not_refreshed: done.foreign.slice(0, 100) }),
    },
  })
  context.placeholder = master.id
  return { privateKeyUniqueIdentifier: master.id, publicKeyUniqueIdentifier: publicKey.id }
}
