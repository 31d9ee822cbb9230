import { failure } from '@warder/foundation/errors'
import type { Access } from '@warder/foundation/operations'
import { type AccessServices, principalOf } from './key-access.ts'

interface GovernorServices extends AccessServices {
  readonly defaultUsername: string
}

/** Requires a user who decides about users: an active crypto officer, or the default user where no officer is listed. */
export const governor: Access<GovernorServices> = {
  name: 'crypto officer, or the default user where none is listed',
  async check(_input, context) {
    const { roles, defaultUsername } = context.services
    const { name } = principalOf(context)
    const { officers } = roles
    const allowed = officers.listed.size === 0 ? name === defaultUsername : await officers.isActive(name)
    if (!allowed) throw failure('forbidden', 'This is for crypto officers.')
  },
}
