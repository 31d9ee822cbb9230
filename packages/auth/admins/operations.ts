import { failure } from '@warder/base'
import { defineOperation, del, get, type Operation, type OperationContext, post, put } from '@warder/server'
import { type Change, type Database, GuardFailed, retryOnGuard, UniqueViolation } from '@warder/storage'
import Type from 'typebox'
import { anyAdmin, requirePowers, superAdmin } from '../callers.ts'
import { listReply, type Page, PageQuery, readPage } from '../paging.ts'
import { RealmId, superRealm } from '../realms/realm.ts'
import { findRealm, realmExists } from '../realms/realm-store.ts'
import { announceCredential, announceRealmCredentials } from '../revocations/feed-store.ts'
import {
  type Admin,
  AdminId,
  AdminInput,
  AdminReply,
  type AdminRequest,
  checkNewAdminId,
  readAdmin,
  showAdmin,
} from './admin.ts'
import {
  adminInsertion,
  adminRemoval,
  adminReplacement,
  adminsWithTotp,
  countSuperAdmins,
  findAdmin,
  hasTotp,
  isFingerprint,
  listAdmins,
} from './admin-store.ts'
import { requireCovered } from './powers.ts'

type Named = Pick<Admin, 'realms' | 'userpass' | 'jwt' | 'fido2' | 'saml' | 'client_certificate'>

/**
 * An identity that an Admin names. `username` is undefined for a certificate fingerprint: the certificate may contain
 * any name.
 */
interface NamedIdentity {
  readonly realm: string
  readonly username: string | undefined
}

/**
 * Lists the identities that an Admin names, keyed by realm, member and name. Every Admin can also log in to the realm
 * `_`.
 */
function listNamedIdentities(admin: Named | undefined): ReadonlyMap<string, NamedIdentity> {
  const doors = new Map<string, NamedIdentity>()
  if (admin === undefined || admin.realms.length === 0) return doors
  const { userpass, jwt, fido2, saml, client_certificate: certificate } = admin
  for (const realm of new Set([superRealm, ...admin.realms]))
    for (const [member, name] of Object.entries({ userpass, jwt, fido2, saml, certificate })) {
      if (name === null) continue
      const isHidden = member === 'certificate' && isFingerprint(name)
      doors.set(JSON.stringify([realm, member, name]), { realm, username: isHidden ? undefined : name })
    }
  return doors
}

/** Announces to the subscribers every identity that an Admin starts or stops naming. @param at Unix seconds */
function announceIdentityChanges(
  db: Database,
  before: Named | undefined,
  after: Named | undefined,
  at: number,
): readonly Change[] {
  const [gone, added] = [listNamedIdentities(before), listNamedIdentities(after)]
  const changed = [
    ...[...gone].filter(([key]) => !added.has(key)),
    ...[...added].filter(([key]) => !gone.has(key)),
  ]
  // Several members of an Admin often contain the same name.
  const distinct = new Map(changed.map(([, door]) => [JSON.stringify([door.realm, door.username]), door]))
  return [...distinct.values()].flatMap(({ realm, username }) =>
    username === undefined
      ? announceRealmCredentials(db, realm, at)
      : announceCredential(db, realm, username, at),
  )
}

/** Services used by operations on administrators. */
interface AdminServices {
  readonly db: Database
  /** Unix seconds. */
  now(): number
}

const define = defineOperation<AdminServices>()
const tag = 'Administrators'
const AdminPath = Type.Object({ admin_id: AdminId })
const AdminRealmPath = Type.Object({ admin_id: AdminId, realm_id: RealmId })
const access = { ...anyAdmin, name: 'super administrator, or administrator of every realm of that admin' }
const bodyLimit = 1024 * 1024

type Context = OperationContext<AdminServices>

async function show(context: Context, admin: Omit<Admin, 'version'>) {
  return showAdmin(admin, await hasTotp(context.services.db, admin))
}

const noSuchRealm = () => failure('bad_request', 'realms: names a realm that does not exist.')

/** @throws failure('bad_request') when a realm does not exist */
async function requireRealms(context: Context, realms: readonly string[]): Promise<void> {
  for (const realm of realms) {
    if ((await findRealm(context.services.db, realm)) === undefined) {
      throw noSuchRealm()
    }
  }
}

/** @throws failure('not_found' | 'forbidden') */
async function requireCoveredAdmin(context: Context, id: string): Promise<Admin> {
  const powers = await requirePowers(context)
  const admin = await findAdmin(context.services.db, id)
  if (admin === undefined) throw failure('not_found', 'There is no such administrator.')
  requireCovered(powers, admin.realms)
  return admin
}

/**
 * The guards of a commit that changes the realms of an admin from those of `before` to `after`.
 * @throws failure('conflict') when the last super admin would lose this role; GuardFailed when the admin has changed
 *   meanwhile
 */
async function anotherSuperStays(
  context: Context,
  before: Admin,
  after: readonly string[],
): Promise<readonly Change[]> {
  if (!before.realms.includes(superRealm) || after.includes(superRealm)) return []
  const { db } = context.services
  const { count, oneFewer } = await countSuperAdmins(db)
  if (count > 1) return [oneFewer]
  // If another request has removed this admin meanwhile, the count is about another super admin: start again.
  if ((await findAdmin(db, before.id))?.version !== before.version) throw new GuardFailed(0)
  throw failure('conflict', 'The last super administrator cannot be removed or demoted.')
}

/** Replaces an admin with the result of `change`. Retries when another request changed the admin at the same time. */
function replaceAdmin(context: Context, id: string, change: (before: Admin) => Omit<Admin, 'version'>) {
  return retryOnGuard(5, async () => {
    const before = await requireCoveredAdmin(context, id)
    const after = { ...change(before), version: before.version }
    requireCovered(await requirePowers(context), after.realms)
    const guard = await anotherSuperStays(context, before, after.realms)
    const shown = await show(context, after)
    context.audit({ object: id, details: { before: showAdmin(before, false), after: shown } })
    await context.commit([
      ...guard,
      ...adminReplacement(after),
      ...requireAddedRealms(before, after),
      ...announceChange(context, before, after),
    ])
    return shown
  })
}

const announceChange = (
  { services: { db, now } }: Context,
  ...change: [before?: Admin, after?: Omit<Admin, 'version'>]
) => announceIdentityChanges(db, change[0], change[1], now())

const requireAddedRealms = (before: Admin, after: Pick<Admin, 'realms'>) =>
  after.realms.filter((realm) => !before.realms.includes(realm)).map((realm) => realmExists(realm))

export const adminOperations: readonly Operation<AdminServices>[] = [
  define({
    name: 'admins.create',
    reach: ['make credential'],
    route: post('/admins'),
    summary: 'Create an administrator',
    tag,
    access,
    request: Type.Intersect([AdminInput, Type.Object({ id: AdminId })]),
    bodyLimit,
    status: 201,
    reply: AdminReply,
    errors: { 409: 'An administrator with this id exists.' },
    async act({ body }, context) {
      checkNewAdminId(body.id)
      const admin = readAdmin(body.id, body as AdminRequest)
      requireCovered(await requirePowers(context), admin.realms)
      await requireRealms(context, admin.realms)
      const shown = await show(context, admin)
      context.audit({ object: admin.id, details: { after: shown } })
      try {
        await context.commit([
          ...admin.realms.map((realm) => realmExists(realm)),
          ...adminInsertion(admin),
          ...announceChange(context, undefined, admin),
        ])
      } catch (error) {
        if (error instanceof UniqueViolation) {
          throw failure('conflict', 'An administrator with this id exists already.')
        }
        if (error instanceof GuardFailed) throw noSuchRealm()
        throw error
      }
      return shown
    },
  }),
  define({
    name: 'admins.list',
    reach: ['reveal attributes'],
    route: get('/admins'),
    summary: 'Every administrator',
    tag,
    access: superAdmin,
    queryParameters: PageQuery,
    paged: true,
    reply: Type.Array(AdminReply),
    async act({ query }, context) {
      const enrolled = await adminsWithTotp(context.services.db)
      const read = (page: Page) => listAdmins(context.services.db, page)
      const showOne = (admin: Admin) => showAdmin(admin, enrolled.has(admin.id))
      return listReply(readPage(query), read, ({ id }) => id, showOne)
    },
  }),
  define({
    name: 'admins.get',
    reach: ['reveal attributes'],
    route: get('/admins/{admin_id}'),
    summary: 'An administrator',
    tag,
    access,
    pathParameters: AdminPath,
    reply: AdminReply,
    errors: { 404: 'There is no such administrator.' },
    act: async ({ path }, context) => show(context, await requireCoveredAdmin(context, path.admin_id)),
  }),
  define({
    name: 'admins.replace',
    reach: ['change settings', 'make credential', 'end session'],
    route: put('/admins/{admin_id}'),
    summary: 'Replace an administrator',
    description: 'The id in the path applies; `totp_…` members are ignored.',
    tag,
    access,
    pathParameters: AdminPath,
    request: AdminInput,
    bodyLimit,
    reply: AdminReply,
    errors: { 404: 'There is no such administrator.' },
    async act({ path, body }, context) {
      const wanted = readAdmin(path.admin_id, body)
      await requireCoveredAdmin(context, path.admin_id)
      requireCovered(await requirePowers(context), wanted.realms)
      await requireRealms(context, wanted.realms)
      return replaceAdmin(context, path.admin_id, () => wanted)
    },
  }),
  define({
    name: 'admins.delete',
    reach: ['end credential', 'end session'],
    route: del('/admins/{admin_id}'),
    summary: 'Delete an administrator; the credential stays',
    tag,
    access,
    pathParameters: AdminPath,
    status: 204,
    async act({ path }, context) {
      context.audit({ object: path.admin_id })
      await retryOnGuard(5, async () => {
        const powers = await requirePowers(context)
        const admin = await findAdmin(context.services.db, path.admin_id)
        if (admin === undefined) return
        requireCovered(powers, admin.realms)
        const guard = await anotherSuperStays(context, admin, [])
        context.audit({ details: { before: showAdmin(admin, false) } })
        await context.commit([...guard, ...adminRemoval(admin), ...announceChange(context, admin)])
      })
    },
  }),
  define({
    name: 'admins.add_realm',
    reach: ['change grants'],
    route: put('/admins/{admin_id}/realms/{realm_id}'),
    summary: 'Add a realm to an administrator',
    tag,
    access,
    pathParameters: AdminRealmPath,
    reply: AdminReply,
    errors: { 404: 'There is no such administrator or realm.' },
    async act({ path }, context) {
      const { admin_id, realm_id } = path
      requireCovered(await requirePowers(context), [realm_id])
      if ((await findRealm(context.services.db, realm_id)) === undefined) {
        throw failure('not_found', 'There is no such realm.')
      }
      return replaceAdmin(context, admin_id, (before) => ({
        ...before,
        realms: [...new Set([...before.realms, realm_id])].sort(),
      }))
    },
  }),
  define({
    name: 'admins.remove_realm',
    reach: ['change grants'],
    route: del('/admins/{admin_id}/realms/{realm_id}'),
    summary: 'Remove a realm from an administrator',
    tag,
    access,
    pathParameters: AdminRealmPath,
    reply: AdminReply,
    errors: { 404: 'There is no such administrator.' },
    async act({ path }, context) {
      const { admin_id, realm_id } = path
      requireCovered(await requirePowers(context), [realm_id])
      return removeAdminRealm(context, admin_id, realm_id)
    },
  }),
]

/**
 * A realm admin may also remove the last realm of an admin. Only super administrators can manage that admin
 * afterwards.
 */
function removeAdminRealm(context: Context, id: string, realm: string) {
  return retryOnGuard(5, async () => {
    const before = await requireCoveredAdmin(context, id)
    const after = { ...before, realms: before.realms.filter((one) => one !== realm) }
    const guard = await anotherSuperStays(context, before, after.realms)
    const shown = await show(context, after)
    context.audit({ object: id, details: { before: showAdmin(before, false), after: shown } })
    await context.commit([...guard, ...adminReplacement(after), ...announceChange(context, before, after)])
    return shown
  })
}
