import { failure } from '@warder/base'
import type { MaterialAlgorithm, MaterialDescriptor } from '@warder/crypto'
import type { Database } from '@warder/storage'
import {
  createHsms,
  type Hsm,
  type Hsms,
  hsmPrefix,
  parseHsmId,
  requireHsm,
  requireHsmAdmin,
} from '../hsm/hsms.ts'
import { createHsmKey, type HsmKeyMaterial, toHsmKeySpec } from '../hsm/new-hsm-key.ts'
import type { NewHalf } from './create.ts'
import type { ManagedObject } from './managed-object.ts'
import { allows, type Usage } from './may-use.ts'
import { asObjectId, newObjectId, type ObjectId } from './object-id.ts'
import type { UnitOfWork } from './unit-of-work.ts'

/** Where a new key of an HSM is created, and the identifiers of its objects. */
export interface HsmTarget {
  readonly hsm: Hsm
  readonly label: string
  /** Labels of a version, for use if another key of the HSM has the label. */
  readonly spareLabels?: readonly string[]
  readonly id: ObjectId
  /** Identifier of the public half of a pair. */
  readonly publicId: ObjectId
}

/** Suffix of the identifier of a public half, as the deployed servers have it. */
const publicSuffix = '_pk'

/**
 * Finds the HSM in which a request creates its key; undefined: the key is not created in an HSM.
 * @param wanted.id an identifier `hsm::NAME::LABEL`
 * @param wanted.hsm the name of the HSM, in which the key gets a label of its own
 * @throws Failure 400 for an unknown HSM, 403 for a user who may not create keys there
 */
export function findHsmTarget(
  hsms: Hsms | undefined,
  wanted: { readonly id?: string | undefined; readonly hsm?: string | undefined },
  user: string,
  now: number,
): HsmTarget | undefined {
  const named = wanted.id === undefined ? undefined : parseHsmId(hsms, wanted.id)
  if (wanted.hsm !== undefined && named !== undefined && wanted.hsm !== named.hsm.name)
    throw failure('bad_request', `hsm: is not the HSM of the identifier, ${named.hsm.name}.`)
  if (named === undefined && wanted.hsm === undefined) return undefined
  const { hsm, label } = named ?? { hsm: requireHsm(hsms, wanted.hsm ?? ''), label: newObjectId(now) }
  requireHsmAdmin(hsm, user)
  return toHsmTarget(hsm, label)
}

/** @throws failure('bad_request') for a label that no identifier can have */
export function toHsmTarget(hsm: Hsm, label: string): HsmTarget {
  const id = asObjectId(`${hsmPrefix}${hsm.name}::${label}`)
  const publicId = asObjectId(`${id}${publicSuffix}`)
  if (id === undefined || publicId === undefined)
    throw failure('bad_request', 'The label of a key in an HSM must not contain control characters.')
  return { hsm, label, id, publicId }
}

/** Attributes of a key to create. */
interface HsmHalvesRequest {
  readonly algorithm: MaterialAlgorithm
  readonly bits?: number | undefined
  readonly curve?: string | undefined
  /** Usage mask of a half. */
  mask(half: MaterialDescriptor): number
}

/** Whether a usage mask permits a use. */
export function allowsUse(mask: number): (use: Usage) => boolean {
  return (use) => allows(mask, use)
}

/** Creates a key in an HSM. @returns the halves of its objects @throws as `createHsmKey` */
export async function createHsmHalves(
  objects: UnitOfWork,
  services: { readonly db: Database },
  { hsm, label, spareLabels = [], id, publicId }: HsmTarget,
  request: HsmHalvesRequest,
  now: number,
): Promise<readonly [NewHalf] | readonly [NewHalf, NewHalf]> {
  const { algorithm, bits = 0, curve } = request
  const spec = toHsmKeySpec({ algorithm, bits, curve })
  const kind = algorithm === 'AES' || algorithm === 'HMAC' ? 'secret' : 'private'
  const usageMask = request.mask({ kind, algorithm, bits, ...(curve !== undefined && { curve }) })
  const wanted = { hsm, label, spareLabels, objectId: id, spec, permits: allowsUse(usageMask) }
  const made = await createHsmKey(objects, services, wanted, now)
  return toHsmHalves(made, { kind, algorithm, curve }, { id, publicId }, (half) => request.mask(half))
}

/** Describes the objects of a key in an HSM. */
export function toHsmHalves(
  made: HsmKeyMaterial,
  {
    kind,
    algorithm,
    curve,
  }: Pick<MaterialDescriptor, 'kind' | 'algorithm'> & { readonly curve: string | undefined },
  { id, publicId }: Pick<HsmTarget, 'id' | 'publicId'>,
  mask: (half: MaterialDescriptor) => number,
): readonly [NewHalf] | readonly [NewHalf, NewHalf] {
  const shape = { algorithm, bits: made.bits, ...(curve !== undefined && { curve }) }
  const half: NewHalf = {
    ...{ id, material: { ...shape, kind, hsm: made }, tags: [], extractability: made.extractability },
    usageMask: mask({ ...shape, kind }),
  }
  if (made.publicKey === undefined) return [half]
  const open = { ...shape, kind: 'public', key: made.publicKey } as const
  return [half, { id: publicId, material: open, usageMask: mask(open), tags: [] }]
}

/** After a restore, the HSM has the versions that were created after the backup; their labels are not used again. */
const maxSpareLabels = 16

/**
 * Finds the HSM and the identifier for the next version of a key: the same HSM, and an identifier like those of other
 * versions. undefined: the key is not in an HSM.
 * @throws failure('hsm_unavailable') when the settings do not have the HSM
 */
export function nextHsmTarget(
  { hsms }: Pick<UnitOfWork, 'hsms'>,
  { form, generation }: Pick<ManagedObject, 'form' | 'generation'>,
  now: number,
): HsmTarget | undefined {
  if (form.hsm === undefined) return undefined
  const { name, label } = form.hsm
  const end = generation === 0 ? label.length : label.lastIndexOf('#')
  const first = label.slice(0, end)
  const last = Number(label.slice(end + 1)) || generation
  const hsm = (hsms ?? createHsms([])).require(name)
  const toLabel = (_: unknown, index: number): string => `${first}#${last + 1 + index}`
  const [next = first, ...spare] = Array.from({ length: 1 + maxSpareLabels }, toLabel)
  return { hsm, label: next, spareLabels: spare, id: newObjectId(now), publicId: newObjectId(now) }
}
