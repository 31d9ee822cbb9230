import {
  algorithmNode,
  allowsUse,
  createHsmKey,
  findHsmTarget,
  type HsmKeyMaterial,
  type HsmTarget,
  type ManagedObject,
  type NewObjectRequest,
  type PairPlan,
  readClientId,
  requireHardwareStorage,
  stageNewObject,
  toHsmKeySpec,
  toStoredKeyKind,
} from '@warder/keys'
import { Tag, type TtlvNode } from '@warder/kmip-codec'
import {
  defaultUsageMask,
  readLength,
  requireAlgorithm,
  requireQuantumSafe,
} from '../../attributes/wanted-key.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { digestAttributes, keyFormatNode } from '../../key-blocks/digest.ts'

/**
 * The key to create in the HSM that the requested identifier names, `hsm::NAME::LABEL`; undefined: the key is stored here.
 * @throws Failure bad_request, forbidden; Refusal ProtectionStorageUnavailable for masks that the HSM does not fulfil
 */
export function findRequestedHsm(
  { services, principal, now }: KmipContext,
  attributes: readonly TtlvNode[],
  masks: readonly TtlvNode[],
): HsmTarget | undefined {
  const id = readClientId(attributes)
  const target = id === undefined ? undefined : findHsmTarget(services.keys.hsms, { id }, principal.name, now)
  if (target !== undefined) requireHardwareStorage([...masks, ...attributes])
  return target
}

/** Attributes that the HSM determines: they were checked, or are reported by it. */
const determinedTags: ReadonlySet<number> = new Set([
  Tag.ProtectionStorageMask,
  Tag.ProtectionStorageMasks,
  Tag.Extractable,
  Tag.Sensitive,
])

/** @throws kmipFailure InvalidAttributeValue for attributes that contradict a key that never leaves its HSM */
function omitDetermined(attributes: readonly TtlvNode[]): readonly TtlvNode[] {
  for (const { tag, value } of attributes)
    if ((tag === Tag.Extractable && value !== false) || (tag === Tag.Sensitive && value !== true))
      throw kmipFailure('InvalidAttributeValue', 'A key in an HSM is Sensitive and not Extractable.')
  return attributes.filter(({ tag }) => !determinedTags.has(tag))
}

function readMask(attributes: readonly TtlvNode[]): number | undefined {
  const node = attributes.find(({ tag }) => tag === Tag.CryptographicUsageMask)
  return node?.type === 'Integer' ? node.value : undefined
}

/** Creates a symmetric key in an HSM and stages its object. */
export async function stageHsmSymmetricKey(
  context: KmipContext,
  attributes: readonly TtlvNode[],
  target: HsmTarget,
): Promise<ManagedObject> {
  const algorithm = requireAlgorithm(attributes)
  const kind = toStoredKeyKind({ algorithm })
  const bits = readLength(attributes) ?? 256
  requireQuantumSafe(attributes, algorithm, bits)
  const spec = toHsmKeySpec({ ...kind, bits })
  if (bits % 8 !== 0 || (spec.algorithm === 'AES' && ![128, 192, 256].includes(bits)))
    throw kmipFailure('InvalidField', `A key for ${algorithm} cannot have ${bits} bits.`)
  const defaultMask = defaultUsageMask({ objectType: 'SymmetricKey', algorithm })
  const mask = readMask(attributes) ?? defaultMask
  const { hsm, label, spareLabels = [], id } = target
  const wanted = { hsm, label, spareLabels, objectId: id, spec, permits: allowsUse(mask) }
  const made = await createHsmKey(context.objects, context.services, wanted, context.now)
  const request: NewObjectRequest = {
    ...{ type: 'SymmetricKey', ...kind, bits, id, generated: true, defaultMask },
    attributes: omitDetermined(attributes),
    given: [algorithmNode(algorithm)],
    ...{ material: made.material, form: { hsm: made.form } },
  }
  return stageHsmObject(context, request, made)
}

function stageHsmObject(
  context: KmipContext,
  request: NewObjectRequest,
  { extractability }: HsmKeyMaterial,
): ManagedObject {
  const object = stageNewObject(context, request)
  return context.objects.update(object, extractability)
}

/** Creates a pair in an HSM and stages its objects; the public half is stored here like that of any pair. */
export async function stageHsmPair(
  context: KmipContext,
  plan: PairPlan,
  secret: readonly TtlvNode[],
  open: readonly TtlvNode[],
  target: HsmTarget,
): Promise<{ readonly privateId: string; readonly publicId: string }> {
  const { algorithm, bits, curve } = plan
  const kind = toStoredKeyKind({ algorithm, curve })
  const { hsm, label, spareLabels = [], id: privateId } = target
  const publicId = readClientId(open) ?? target.publicId
  const mask = readMask(secret) ?? defaultUsageMask({ objectType: 'PrivateKey', algorithm })
  const wanted = {
    ...{ hsm, label, spareLabels, objectId: privateId, permits: allowsUse(mask) },
    spec: toHsmKeySpec({ ...kind, bits }),
  }
  const made = await createHsmKey(context.objects, context.services, wanted, context.now)
  if (made.publicKey === undefined) throw kmipFailure('GeneralFailure', 'The HSM created no pair.')
  const common = { ...kind, bits, generated: true } as const
  stageHsmObject(
    context,
    {
      ...{ ...common, type: 'PrivateKey', id: privateId, linkedId: publicId },
      attributes: omitDetermined(secret),
      given: [algorithmNode(algorithm)],
      ...{ material: made.material, form: { hsm: made.form } },
    },
    made,
  )
  const material = made.publicKey.export({ format: 'der', type: 'spki' })
  const shape = { objectType: 'PublicKey', form: 'canonical', keyFormat: 'X_509', algorithm, bits } as const
  const digests = digestAttributes({ ...shape, ...(curve !== undefined && { curve }) }, material)
  stageNewObject(context, {
    ...{ ...common, type: 'PublicKey', id: publicId, linkedId: privateId, material },
    attributes: open.filter(({ tag }) => !determinedTags.has(tag)),
    given: [algorithmNode(algorithm), ...digests, keyFormatNode('X_509')],
  })
  return { privateId, publicId }
}
