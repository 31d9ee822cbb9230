import { type ApprovableOnObject, requireApproval } from '../../../access/index.ts'
import type { ManagedObject } from '../../../keys/index.ts'
import type { KmipContext } from './types.ts'

/**
 * Stages that an approval of the caller is used, where the operation takes one; see `access/approvals.ts`.
 * @throws failure('forbidden'), which KMIP tells as PermissionDenied
 */
export async function requireKmipApproval(
  { services, principal, objects, now }: KmipContext,
  operation: ApprovableOnObject,
  object: ManagedObject,
): Promise<void> {
  const used = await requireApproval(services, operation, object, principal.name, now)
  if (used !== undefined) objects.also(used)
}
