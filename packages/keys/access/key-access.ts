import { andThen, type Clock, failure, type MaybePromise } from '@warder/base'
import type { Access, AuditFields, OperationContext, OperationInput, Principal } from '@warder/server'
import type { Database } from '@warder/storage'
import type { Key, KeyRing } from '../objects/key-ring.ts'
import type { ObjectId } from '../objects/object-id.ts'
import { processingVersion, protectingVersion, versionNumber } from '../objects/version-use.ts'
import { type Aliases, resolveKid } from './aliases.ts'
import { requireCredentialWaited } from './credential-wait-store.ts'
import {
  hasCreateRight,
  keyNotFound,
  type Roles,
  requireAllowed,
  type Verdict,
  verdictOn,
} from './permission.ts'
import type { Right } from './right.ts'

/** Every authenticated caller; the operation checks further requirements. */
export const signedIn = { name: 'signed in' } as const
/** Every caller, without authentication. */
export const publicAccess = { name: 'public', public: true } as const

/** Services used by access checks. */
export interface AccessServices {
  readonly db: Database
  readonly keys: KeyRing
  readonly roles: Roles
  readonly aliases: Aliases
}

/** A key and the request about it, read once by the access check for the handler. */
export interface Resolved<Request> {
  readonly key: Key
  /** Id of the object named by the request: the half of a pair that it named, an alias resolved. */
  readonly kid: ObjectId
  readonly request: Request
}

/** `by` is the access that read it: values stored by another access check are not used. */
class Finding<Request> implements Resolved<Request> {
  readonly by: object
  readonly key: Key
  readonly kid: ObjectId
  readonly request: Request

  constructor(by: object, key: Key, kid: ObjectId, request: Request) {
    this.by = by
    this.key = key
    this.kid = kid
    this.request = request
  }
}

/** An access check that reads the key and hands it to the handler of the same request. */
interface KeyAccess<Services extends AccessServices, Request> extends Access<Services> {
  /** Result of the check. Asking in an operation with another access is an error. */
  resolved(context: OperationContext<Services>): Resolved<Request>
}

interface KeyAccessOptions<Services extends AccessServices, Request> {
  /** Parses the request strictly: malformed members are reported before any fact about the key (§7). */
  readonly read: (input: OperationInput, context: OperationContext<Services>) => Request
  readonly kid: (request: Request) => string
  /**
   * `private half`: a request that names the public half of a pair means the private one, whose rights are checked,
   * because it does the work (JWE decryption, §4.1).
   */
  readonly use?: 'private half'
  /**
   * The version of a rotated key that the handler gets: see `protectingVersion` and `processingVersion`. Default: the
   * named object.
   */
  readonly version?: 'protect' | 'process'
  /** Algorithm for the audit record. */
  readonly algorithm?: (request: Request) => string | undefined
}

/** The key named by the request, if the caller has `right` on it. */
export function keyRight<Services extends AccessServices, Request>(
  right: Right,
  options: KeyAccessOptions<Services, Request>,
): KeyAccess<Services, Request> {
  const by = Object.freeze({})
  return {
    name: `key right: ${right}`,
    check(input, context) {
      const request = options.read(input, context)
      const named = options.kid(request)
      const algorithm = options.algorithm?.(request)
      context.audit(algorithm === undefined ? { object: named } : { object: named, algorithm })
      const principal = requirePrincipal(context)
      return andThen(resolveKid(context.services, principal.name, named), (kid) => {
        if (kid === undefined) throw keyNotFound()
        if (kid !== named) context.audit({ object: kid, details: { alias: named } })
        const audit = (fields: AuditFields) => context.audit(fields)
        const key = requireKeyById(context.services, principal, kid, right, { use: options.use, audit })
        return andThen(key, (known) => {
          const version = selectVersion(context.services.keys, known, options.version)
          return andThen(version, (found) => {
            context.found = new Finding(by, found, kid, request)
            if (found !== known) context.audit({ details: { version: versionNumber(found.object) } })
          })
        })
      })
    },
    resolved(context) {
      const { found } = context
      if (found instanceof Finding && found.by === by) return found as Resolved<Request>
      throw failure('internal_error', `the access check of ${right} did not run`)
    },
  }
}

function selectVersion(
  keys: KeyRing,
  key: Key,
  version: 'protect' | 'process' | undefined,
): MaybePromise<Key> {
  // Most keys were never rotated.
  if (version === undefined || key.object.chainId === undefined) return key
  return version === 'protect' ? protectingVersion(keys, key) : processingVersion(keys, key)
}

export function requirePrincipal<Services>(context: OperationContext<Services>): Principal {
  const { principal } = context
  if (principal === undefined) throw failure('unauthorized')
  return principal
}

/**
 * Finds the key with this id or alias, if the caller has `right` on it, and records the grant of that right.
 * Synchronous for a cached key of the caller's own on SQLite.
 * @throws failure('not_found') when there is none, or when the caller has no right at all on it;
 * failure('forbidden') when the caller has other rights on it
 */
export function requirePermittedKey<Services extends AccessServices>(
  context: OperationContext<Services>,
  kid: string,
  right: Right,
  use?: 'private half',
): MaybePromise<Key> {
  const { services } = context
  const principal = requirePrincipal(context)
  const audit = (fields: AuditFields) => context.audit(fields)
  return andThen(resolveKid(services, principal.name, kid), (id) => {
    if (id === undefined) throw keyNotFound()
    return requireKeyById(services, principal, id, right, { use, audit })
  })
}

interface Way {
  readonly use: 'private half' | undefined
  readonly audit: (fields: AuditFields) => void
}

function requireKeyById(
  services: AccessServices,
  principal: Principal,
  id: ObjectId,
  right: Right,
  way: Way,
): MaybePromise<Key> {
  return andThen(services.keys.get(id), (key) => authorizeKey(services, principal, key, right, way))
}

function authorizeKey(
  services: AccessServices,
  principal: Principal,
  key: Key | undefined,
  right: Right,
  { use, audit }: Way,
): MaybePromise<Key> {
  if (key === undefined) throw keyNotFound()
  const { object } = key
  if (use === 'private half' && object.type === 'PublicKey' && object.linkedId !== undefined) {
    return requireKeyById(services, principal, object.linkedId, right, { use: undefined, audit })
  }
  const verdict = verdictOn(services.db, services.roles, object, principal, right, audit)
  return andThen(verdict, (now) => allowKey(key, now))
}

function allowKey(key: Key, verdict: Verdict): Key {
  requireAllowed(verdict)
  return key
}

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
