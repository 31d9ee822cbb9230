import { type Clock, failure } from '@warder/base'
import type { Access } from '@warder/server'
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
    const { db, clock, roles, defaultUsername } = context.services
    const principal = requirePrincipal(context)
    const { name } = principal
    const { officers, approvals } = roles
    const allowed = officers.listed.size === 0 ? name === defaultUsername : await officers.isActive(name)
    if (!allowed) throw failure('forbidden', 'This is for crypto officers.')
    // Otherwise a credential in its waiting period could block the officers who should notice it.
    if (officers.listed.size > 0) await requireCredentialWaited(db, approvals, principal, clock.now())
  },
}
