import { Tag } from '@warder/kmip/tables'
import { membersWithin, textString } from '@warder/kmip/ttlv'
import {
  linkedObject,
  linkReplacement,
  type ManagedObject,
  requireReplaceable,
} from '../../../../keys/index.ts'
import { requireSoftwarePair } from '../../attributes/wanted-key.ts'
import { type KmipContext, type KmipOperation, kmipFailure, objectRight } from '../../engine/index.ts'
import { shapeOf } from '../../key-blocks/object-shape.ts'
import { rotate } from '../abe/rotate.ts'
import { merged, stagePair } from './create-key-pair.ts'
import { pairPlan } from './pair-kinds.ts'
import { offsetOf, takenOver } from './replacement.ts'

/** ReKeyKeyPair (KMIP 2.1 §6.1.47): a new pair takes the place of one that is there, half by half. */
export const reKeyKeyPair: KmipOperation = {
  name: 'ReKeyKeyPair',
  access: objectRight('rekey', { member: Tag.PrivateKeyUniqueIdentifier, creates: true }),
  async act(payload, context) {
    const { object } = context
    if (object.type !== 'PrivateKey')
      throw kmipFailure('InvalidObjectType', `ReKeyKeyPair is not for objects of type ${object.type}.`)
    if (object.form.abe !== undefined) return rotate(payload, context)
    requireReplaceable(context, object)
    requireSoftwarePair(payload.value)
    const open = await otherHalf(context, object)
    if (open !== undefined) requireReplaceable(context, open)
    const { algorithm, bits, curve } = shapeOf(object)
    if (algorithm === undefined)
      throw kmipFailure('InvalidObjectType', 'Nothing is known of the algorithm of this key.')
    const plan = pairPlan({ algorithm, bits, curve, fips: context.services.fips })
    const common = membersWithin(payload, Tag.CommonAttributes)
    const offset = offsetOf(payload)
    const wishes = (tag: number) => merged(common, membersWithin(payload, tag))
    const secretAttributes = await takenOver(context, object, wishes(Tag.PrivateKeyAttributes), offset)
    const openWishes = wishes(Tag.PublicKeyAttributes)
    const openAttributes =
      open === undefined ? openWishes : await takenOver(context, open, openWishes, offset)
    const { privateId, publicId } = await stagePair(context, plan, secretAttributes, openAttributes)
    await replace(context, object, privateId)
    if (open !== undefined) await replace(context, open, publicId)
    else context.objects.entrust({ id: publicId }, object.owner)
    context.audit({ object: object.id, algorithm, details: { replacement: privateId, linked: publicId } })
    context.placeholder = privateId
    return [
      textString(Tag.PrivateKeyUniqueIdentifier, privateId),
      textString(Tag.PublicKeyUniqueIdentifier, publicId),
    ]
  },
}

/**
 * The public key of the pair, if it is here: by the pair itself, or by a link. Anybody sets links to anything: only to
 * what belongs to the same owner do they mean something, and what else they lead to is not told.
 */
async function otherHalf(context: KmipContext, object: ManagedObject): Promise<ManagedObject | undefined> {
  const linked = object.linkedId ?? linkedObject(object, 'PublicKeyLink')
  if (linked === undefined) return undefined
  const there = await context.objects.read(linked)
  if (there?.type !== 'PublicKey' || there.owner !== object.owner) return undefined
  return context.permitted(linked, 'rekey')
}

async function replace(context: KmipContext, replaced: ManagedObject, id: string): Promise<void> {
  const made = await context.objects.read(id)
  if (made === undefined) throw kmipFailure('GeneralFailure', 'The new key is not there.')
  await linkReplacement(context, replaced, made)
}
