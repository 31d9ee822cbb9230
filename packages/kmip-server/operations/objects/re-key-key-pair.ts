import {
  findLinkedHalf,
  linkReplacement,
  type ManagedObject,
  pairPlan,
  requireReplaceable,
} from '@warder/keys'
import { membersWithin, Tag, textString } from '@warder/kmip-codec'
import { requireSoftwarePair } from '../../attributes/wanted-key.ts'
import { objectRight } from '../../engine/access.ts'
import type { KmipContext, KmipOperation } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { readShape } from '../../key-blocks/object-shape.ts'
import { rotate } from '../abe/rotate.ts'
import { mergeAttributes, stagePair } from './create-key-pair.ts'
import { copyAttributes, readOffset } from './replacement.ts'

/** ReKeyKeyPair (KMIP 2.1 §6.1.47): a new pair replaces an existing one, half by half. */
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
    const half = await findLinkedHalf(context, object)
    const open = half === undefined ? undefined : await context.permitted(half, 'rekey')
    if (open !== undefined) requireReplaceable(context, open)
    const { algorithm, bits, curve } = readShape(object)
    if (algorithm === undefined)
      throw kmipFailure('InvalidObjectType', 'Nothing is known of the algorithm of this key.')
    const plan = pairPlan({ algorithm, bits, curve, fips: context.services.fips })
    const common = membersWithin(payload, Tag.CommonAttributes)
    const offset = readOffset(payload)
    const wishes = (tag: number) => mergeAttributes(common, membersWithin(payload, tag))
    const secretAttributes = await copyAttributes(context, object, wishes(Tag.PrivateKeyAttributes), offset)
    const openWishes = wishes(Tag.PublicKeyAttributes)
    const openAttributes =
      open === undefined ? openWishes : await copyAttributes(context, open, openWishes, offset)
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

async function replace(context: KmipContext, replaced: ManagedObject, id: string): Promise<void> {
  const made = await context.objects.read(id)
  if (made === undefined) throw kmipFailure('GeneralFailure', 'The new key is not there.')
  await linkReplacement(context, replaced, made)
}
