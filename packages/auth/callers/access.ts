import { failure } from '@warder/base'
import type { Access } from '@warder/server'
import { requirePowers, requireSession } from './callers.ts'

export const anyCaller: Access<unknown> = { name: 'public', public: true }

/** Requires a live session. */
export const anySession: Access<unknown> = {
  name: 'session',
  credentials: ['sessionCookie'],
  check(_input, context) {
    requireSession(context)
  },
}

/** Requires an administrator. The operation limits the result to the realms of the administrator. */
export const anyAdmin: Access<unknown> = {
  name: 'administrator',
  credentials: ['sessionCookie'],
  async check(_input, context) {
    await requirePowers(context)
  },
}

export const superAdmin: Access<unknown> = {
  name: 'super administrator',
  credentials: ['sessionCookie'],
  async check(_input, context) {
    const powers = await requirePowers(context)
    if (!powers.isSuper) throw failure('forbidden', 'This is for super administrators.')
  },
}

/** Requires an administrator of the realm that the path names. */
export const realmAdmin: Access<unknown> = {
  name: 'administrator of the realm',
  credentials: ['sessionCookie'],
  async check({ path }, context) {
    const powers = await requirePowers(context)
    if (!powers.administers(path.realm_id ?? '')) {
      throw failure('forbidden', 'This needs rights over this realm.')
    }
  },
}
