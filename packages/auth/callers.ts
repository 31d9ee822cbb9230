import { failure } from '@warder/base'
import type { Access, OperationContext, Principal } from '@warder/server'
import type { AuthClaims, AuthScheme } from './claims.ts'

/** Current powers of the admins of a session. Read from the database at each request, never cached. */
export interface Powers {
  readonly isSuper: boolean
  /** Realms administered through this session, without `_`. */
  readonly realms: readonly string[]
  administers(realm: string): boolean
}

/** A caller with a session cookie. */
export interface SessionCaller extends Principal {
  readonly kind: 'session'
  readonly session: {
    readonly id: string
    readonly realm: string
    readonly username: string
    readonly scheme: AuthScheme
    /** Unix seconds. */
    readonly createdAt: number
  }
  /** Claims of the session token. */
  readonly claims: AuthClaims
  /** Reads the powers of the session; undefined if the session belongs to no admin. */
  powers(): Promise<Powers | undefined>
}

/** A caller with a machine token. */
export interface MachineCaller extends Principal {
  readonly kind: 'machine'
  readonly token: {
    /** Realm of the role that issued it. */
    readonly realm: string
    readonly policies: readonly string[]
  }
}

type Context = OperationContext<unknown>

function isSession(principal: Principal | undefined): principal is SessionCaller {
  return principal !== undefined && 'kind' in principal && principal.kind === 'session'
}

function isMachine(principal: Principal | undefined): principal is MachineCaller {
  return principal !== undefined && 'kind' in principal && principal.kind === 'machine'
}

/** @throws failure('unauthorized') when the caller has no session */
export function requireSession(context: Context): SessionCaller {
  if (!isSession(context.principal)) throw failure('unauthorized')
  return context.principal
}

/** Returns the machine token of the caller; undefined for other callers. */
export function findMachineToken(context: Context): MachineCaller['token'] | undefined {
  return isMachine(context.principal) ? context.principal.token : undefined
}

/** @throws failure('forbidden') if the session belongs to no admin */
export async function requirePowers(context: Context): Promise<Powers> {
  const powers = await requireSession(context).powers()
  if (powers === undefined) throw failure('forbidden', 'This is for administrators.')
  return powers
}

export const anyCaller: Access<unknown> = { name: 'public', public: true }

/** Requires a live session. */
export const anySession: Access<unknown> = {
  name: 'session',
  credentials: ['sessionCookie'],
  check(_input, context) {
    requireSession(context)
  },
}

/** Requires a user whose second factors are enrolled here, not at an identity provider. @throws failure('conflict') */
export function requireSecondFactorHere(scheme: AuthScheme): void {
  if (scheme === 'up' || scheme === 'f2' || scheme === 'jwt') return
  throw failure(
    'conflict',
    'The second factor of this user is that of their identity provider or certificate.',
  )
}

/** Seconds after a login in which its session may change the factors of its user (OWASP ASVS 5.0 §7.5.1). */
const recentLoginSeconds = 900

/**
 * Requires a session that began recently: a session that was left open or stolen cannot add a factor of another
 * person.
 */
export const recentSession: Access<{ now(): number }> = {
  name: 'session that began at most 15 minutes ago',
  credentials: ['sessionCookie'],
  check(_input, context) {
    const { session } = requireSession(context)
    if (context.services.now() - session.createdAt < recentLoginSeconds) return
    throw failure('forbidden', 'This needs a login of the last 15 minutes: log in again.')
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
