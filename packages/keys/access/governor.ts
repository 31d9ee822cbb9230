import { type Clock, failure } from '@warder/base'
import type { Access, Principal } from '@warder/server'
import { requireCredentialWaited } from './credential-wait-store.ts'
import { type AccessServices, requirePrincipal } from './key-access.ts'

interface GovernorServices extends AccessServices {
  readonly clock: Clock
  readonly defaultUsername: string
}

/** Requires a user who may manage users: an active crypto officer, or the default user if no officer is listed. */
export const governor: Access<GovernorServices> = {
  name: 'crypto officer, or the default user if none is listed',
  async check(_input, context) {
    if (!(await isGovernor(context.services, requirePrincipal(context))))
      throw failure('forbidden', 'This is for crypto officers.')
  },
}

/**
 * Whether the principal may manage users.
 * @throws failure('forbidden') for an officer whose credential still waits: otherwise it could block the officers who
 *   should notice it
 */
export async function isGovernor(services: GovernorServices, principal: Principal): Promise<boolean> {
  const { db, clock, roles, defaultUsername } = services
  const { officers, approvals } = roles
  if (officers.listed.size === 0) return principal.name === defaultUsername
  if (!(await officers.isActive(principal.name))) return false
  await requireCredentialWaited(db, approvals, principal, clock.now())
  return true
}
