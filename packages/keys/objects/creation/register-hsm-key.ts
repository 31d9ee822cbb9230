import { failure } from '@warder/base'
import { keyFacts, requirePermitted } from '@warder/crypto'
import type { RegistrableHsmKey } from '../../hsm/existing-hsm-key.ts'
import { insertHsmKey } from '../../hsm/hsm-key-store.ts'
import type { Hsm } from '../../hsm/hsms.ts'
import { type NewKey, newKeyObjects, toUsageMask } from '../create.ts'
import { toHsmHalves, toHsmTarget } from '../hsm-halves.ts'
import type { ManagedObject } from '../managed-object.ts'
import { newObjectId } from '../object-id.ts'
import { findObject } from '../object-store.ts'
import type { UnitOfWork } from '../unit-of-work.ts'
import { type CreationServices, stageNew } from './apply-rules.ts'

/**
 * Stages the objects of a key that exists in an HSM.
 * @returns the key, and the public half of a pair
 * @throws Failure 409 if it is registered already, 422 for a key that the policy forbids
 */
export async function stageHsmRegistration(
  objects: UnitOfWork,
  services: CreationServices,
  { hsm, found }: { readonly hsm: Hsm; readonly found: RegistrableHsmKey },
  key: NewKey & { readonly tags: readonly string[] },
): Promise<readonly [ManagedObject, ManagedObject?]> {
  const { kind, made } = found
  const { label, id } = found.attributes
  const target = toHsmTarget(hsm, label === '' ? id : label)
  if ((await findObject(services.db, target.id)) !== undefined)
    throw failure('conflict', `${target.id} is registered already.`)
  const halves = toHsmHalves(made, found, target, (half) => toUsageMask(half, key.boundAlg))
  requirePermitted(services.policy, keyFacts(halves[0].material))
  const tagged = halves.map((half) => ({ ...half, tags: key.tags })) as unknown as typeof halves
  const staged = await stageNew(objects, services, key, newKeyObjects(key, tagged))
  objects.also(
    insertHsmKey({
      ...{ id: newObjectId(key.now), object_id: target.id, hsm: hsm.name, class: kind, due_at: null },
      ...{ label, key_id: id },
    }),
  )
  return staged as readonly ManagedObject[] as readonly [ManagedObject, ManagedObject?]
}
