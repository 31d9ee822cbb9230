import { failure } from '@warder/base'
import type { Access, OperationContext } from '@warder/server'
import { type AccessServices, requirePrincipal } from './key-access.ts'
import { hasCreateRight } from './permission.ts'

/** @throws failure('forbidden') unless the caller may create objects, and has room for one more */
export async function requireCreate<Services extends AccessServices>(
  context: OperationContext<Services>,
): Promise<void> {
  const { db, roles } = context.services
  const { name } = requirePrincipal(context)
  if (!(await hasCreateRight(db, roles, name))) throw failure('forbidden')
  if (roles.quota !== undefined && !(await roles.quota.hasRoom(name)))
    throw failure('forbidden', 'You own the maximum number of objects.')
}

/** The right to create objects. */
export function createAccess<Services extends AccessServices>(): Access<Services> {
  return { name: 'create objects', check: (_input, context) => requireCreate(context) }
}
