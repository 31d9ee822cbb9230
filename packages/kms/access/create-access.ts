import { failure } from '@warder/foundation/errors'
import type { Access, OperationContext } from '@warder/foundation/operations'
import { type AccessServices, principalOf } from './key-access.ts'
import { mayCreate } from './permission.ts'

/** @throws failure('forbidden') unless the caller may create objects */
export async function requireCreate<Services extends AccessServices>(
  context: OperationContext<Services>,
): Promise<void> {
  const { db, roles } = context.services
  if (!(await mayCreate(db, roles, principalOf(context).name))) throw failure('forbidden')
}

/** The right to create objects. */
export function createAccess<Services extends AccessServices>(): Access<Services> {
  return { name: 'create objects', check: (_input, context) => requireCreate(context) }
}
