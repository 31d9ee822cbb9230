import { approvalNeeded, type ManagedObject, readStoredWithTag, requireApproval } from '@warder/keys'
import { Tag } from '@warder/kmip-codec'
import { kmipFailure } from '../failure/failure.ts'
import type { KmipContext } from './types.ts'

/** @throws NotExtractable for material that never leaves the service, wrapped or not (KMIP 2.1 §4.23) */
export function requireExtractable(object: ManagedObject): void {
  if (readStoredWithTag(object, Tag.Extractable).some(({ value }) => value === false))
    throw kmipFailure('NotExtractable', 'DENIED')
}

/**
 * Stages the use of an approval if material needs one to leave the service. The approval applies to the object as it is
 * in the database: in a batch that is committed as a whole it does not apply to an object that an earlier item changed.
 * @param wrappedBy the wrapping key; undefined: the material leaves in clear, or in a form that others could decrypt
 * @throws failure('forbidden'), which KMIP reports as PermissionDenied
 */
export async function requireExportApproval(
  { services, principal, objects, now }: KmipContext,
  object: ManagedObject,
  wrappedBy: () => Promise<string | undefined> = async () => undefined,
): Promise<void> {
  const used = await requireApproval(services, { object, caller: principal.name, now, wrappedBy })
  if (used === undefined) return
  if (objects.staged().some(({ id }) => id === object.id))
    throw approvalNeeded('export', services.roles.officers)
  objects.also(used)
}

/** Whether the destruction of the object is delayed, so that its material must not be deleted at once. */
export async function waitsForDestruction(
  { services }: Pick<KmipContext, 'services'>,
  object: ManagedObject,
): Promise<boolean> {
  return object.destructionAt !== undefined || (await services.roles.destructions.daysOf(object)) > 0
}
