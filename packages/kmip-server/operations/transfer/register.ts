import { type ManagedObject, requireSoftwareStorage } from '@warder/keys'
import { type StructureNode, sameValue, Tag, type TtlvNode } from '@warder/kmip-codec'
import { storageMasks } from '../../attributes/wanted-key.ts'
import { creates, defineOperation, objectReply } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import type { PlainKeyValue } from '../../key-blocks/key-block.ts'
import type { KmipObjectType } from '../../key-blocks/stored-shape.ts'
import { checkTemplate, namesHeldBy, requireTemplates } from '../../locate/templates.ts'
import { definePayload, field, repeated, required } from '../../payloads/payload.ts'
import { adoptUserKeys, withMaster } from '../abe/user-keys.ts'
import { newBrought, objectNode, readBrought } from '../objects/registered-object.ts'
import { fileIn, linkToKey, readFile, stageCertificates } from './certificate-files.ts'

/** Register (KMIP 2.1 §6.1.43): stores an existing object of the client as received. */
export const register = defineOperation({
  name: 'Register',
  reach: ['make object', 'reveal plaintext'],
  asks: ['decrypt', 'encrypt', 'mac', 'signatureverify'],
  access: creates,
  request: definePayload({
    objectType: required(field.named('ObjectType')),
    attributes: field.attributes(Tag.Attributes),
    objects: repeated(field.object()),
    storageMasks,
  }),
  reply: objectReply,
  async handle({ objectType: type, attributes, objects, storageMasks: masks }, context) {
    if (type === 'Template') requireTemplates(context.version, 'InvalidField')
    requireSoftwareStorage(masks)
    const node = objectNode(objects, type)
    const file = type === 'PrivateKey' ? fileIn(node) : undefined
    const object =
      file === undefined
        ? await registerOne(context, type, node, attributes)
        : await registerFile(context, file, attributes)
    context.placeholder = object.id
    return { uniqueIdentifier: object.id }
  },
})

async function registerOne(
  context: KmipContext,
  type: KmipObjectType,
  node: StructureNode,
  said: readonly TtlvNode[],
): Promise<ManagedObject> {
  const attributes = type === 'Template' ? withOwnNames(node, said) : said
  const brought = await readBrought(type, node, attributes, context)
  try {
    const created = await withMaster(context, newBrought(context, brought, attributes))
    const object = context.objects.create(created)
    await adoptUserKeys(context, object)
    return object
  } finally {
    brought.material?.fill(0)
  }
}

/** The attributes of a template to check: the names in it are its own. */
function withOwnNames(template: StructureNode, said: readonly TtlvNode[]): readonly TtlvNode[] {
  checkTemplate(template)
  const more = namesHeldBy(template).filter((name) => !said.some((node) => sameNode(node, name)))
  return [...said, ...more]
}

function sameNode(one: TtlvNode, other: TtlvNode): boolean {
  return one.tag === other.tag && sameValue(one, other)
}

/** The key of a file, and its certificates as objects of their own, each linked to the next. */
async function registerFile(
  context: KmipContext,
  value: PlainKeyValue,
  attributes: readonly TtlvNode[],
): Promise<ManagedObject> {
  requireSoftwareStorage(attributes)
  const file = await readFile(value, attributes, context)
  try {
    const staged = await stageCertificates(context, file)
    const key = context.objects.create(
      newBrought(context, file.key, [...attributes, ...file.attributes, ...staged.links]),
    )
    linkToKey(context, staged, key.id)
    return key
  } finally {
    file.key.material?.fill(0)
  }
}
