import {
  linkReplacement,
  type ManagedObject,
  type NewObjectRequest,
  nextHsmTarget,
  requireHardwareStorage,
  requireReplaceable,
  requireSoftwareStorage,
  stageNewObject,
} from '@warder/keys'
import { encodeTtlv, Tag, type TtlvNode } from '@warder/kmip-codec'
import { storageMasks } from '../../attributes/wanted-key.ts'
import { defineOperation, namedObject, objectReply, objectRight } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { readKeyBlock } from '../../key-blocks/key-block.ts'
import { writeWrappingData } from '../../key-blocks/key-wrapping.ts'
import { readShape } from '../../key-blocks/object-shape.ts'
import { readManagedObject } from '../../key-blocks/read-object.ts'
import type { StoredShape } from '../../key-blocks/stored-shape.ts'
import { wrapKeyValue } from '../../key-blocks/wrap.ts'
import { keyInForm, keyObject, toStoredBlock } from '../../key-blocks/write-object.ts'
import { definePayload, field } from '../../payloads/payload.ts'
import { newSymmetricKey } from './create.ts'
import { stageHsmSymmetricKey } from './hsm-keys.ts'
import { newBrought } from './registered-object.ts'
import { copyAttributes, offset, readOffset } from './replacement.ts'
import { wrappingKeys } from './wrapping-keys.ts'

/** ReKey (KMIP 2.1 §6.1.46): a new symmetric key replaces an existing one, with its name and dates. */
export const reKey = defineOperation({
  name: 'ReKey',
  reach: ['change versions', 'reveal material', 'make ciphertext'],
  asks: ['modifyattribute', 'setattribute', 'encrypt', 'decrypt', 'mac', 'sign', 'get'],
  access: objectRight('rekey', { creates: true }),
  request: definePayload({
    uniqueIdentifier: namedObject,
    offset,
    attributes: field.attributes(Tag.Attributes),
    storageMasks,
  }),
  reply: objectReply,
  async handle(asked, context) {
    const { object } = context
    if (object.type !== 'SymmetricKey')
      throw kmipFailure('InvalidObjectType', `ReKey does not support objects of type ${object.type}.`)
    requireReplaceable(context, object)
    const hsm = nextHsmTarget(context.objects, object, context.now)
    if (hsm === undefined) requireSoftwareStorage(asked.storageMasks)
    else requireHardwareStorage(asked.storageMasks)
    const seconds = readOffset(asked.offset)
    const attributes = await copyAttributes(context, object, asked.attributes, seconds)
    const made =
      hsm === undefined
        ? await replaceHere(context, object, attributes)
        : await stageHsmSymmetricKey(context, attributes, hsm)
    await linkReplacement(context, object, made)
    context.audit({ object: object.id, details: { replacement: made.id } })
    context.placeholder = made.id
    return { uniqueIdentifier: made.id }
  },
})

async function replaceHere(
  context: KmipContext,
  object: ManagedObject,
  attributes: readonly TtlvNode[],
): Promise<ManagedObject> {
  const request = newSymmetricKey(attributes, context)
  try {
    return await stageReplacement(context, object, request, attributes)
  } finally {
    request.material?.fill(0)
  }
}

async function stageReplacement(
  context: KmipContext,
  object: ManagedObject,
  request: NewObjectRequest,
  attributes: readonly TtlvNode[],
): Promise<ManagedObject> {
  const shape = readShape(object)
  if (shape.wrapped !== true || request.material === undefined) return stageNewObject(context, request)
  return wrapAlike(context, object, shape, request.material, attributes)
}

/** The replacement of a wrapped key is wrapped in the same way, by the same key. */
async function wrapAlike(
  context: KmipContext,
  object: ManagedObject,
  shape: StoredShape,
  key: Uint8Array,
  attributes: readonly TtlvNode[],
): Promise<ManagedObject> {
  const stored = await context.objects.material(object)
  const wrapping = stored === undefined ? undefined : readKeyBlock(toStoredBlock(stored)).wrapping
  if (wrapping === undefined)
    throw kmipFailure('KeyValueNotPresent', 'The value of the key is not stored on this server.')
  const { policy, fips } = context.services
  const keys = await wrappingKeys(context, wrapping, { wrap: true, bytes: key.length })
  const clear = { ...shape, form: 'canonical' as const }
  const form = keyInForm(clear, key)
  const { value, data } = await wrapKeyValue(form.material, [], { ...wrapping, attributes: [] }, keys, policy)
  const node = keyObject(clear, form, value, writeWrappingData(data, keys.identifiers))
  const brought = await readManagedObject('SymmetricKey', node, {}, { fips })
  return context.objects.create(newBrought(context, { ...brought, material: encodeTtlv(node) }, attributes))
}
