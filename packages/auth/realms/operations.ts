import { failure } from '@warder/foundation/errors'
import { defineOperation, del, get, type Operation, post, put } from '@warder/foundation/operations'
import { type Change, retryOnGuard } from '@warder/foundation/sql'
import Type from 'typebox'
import { countSuperAdmins, findSuperCredentials } from '../admins/admin-store.ts'
import { anyAdmin, powersOfCaller, superAdmin } from '../callers.ts'
import { countSessions, countTokens } from '../counting/index.ts'
import { listReply, type Page, PageQuery, readPage } from '../paging/index.ts'
import type { AuthServices } from '../services.ts'
import { type Realm, RealmInput, RealmReply, readRealm } from './realm.ts'
import { RealmId, RealmPath, superRealm } from './realm-id.ts'
import { findRealm, insertRealm, listRealms, realmOrThrow, removeRealm, replaceRealm } from './realm-store.ts'

const define = defineOperation<AuthServices>()
const tag = 'Realms'

/** `id` is required where no path says it. */
const NewRealm = Type.Intersect([RealmInput, Type.Object({ id: RealmId })])

/**
 * What a commit needs that gives `_` this configuration: super admins are counted as they are now.
 * @throws failure('conflict') when none of them could log in by it
 */
async function superRealmStaysOpen(services: AuthServices, realm: Realm): Promise<readonly Change[]> {
  if (realm.id !== superRealm) return []
  const { oneFewer } = await countSuperAdmins(services.db)
  const has = await findSuperCredentials(services.db)
  const { username_password_params, jwt_params } = realm.auth_params
  const open =
    (has.password && username_password_params !== undefined) ||
    (has.jwt && (jwt_params?.idp_params.length ?? 0) > 0) ||
    (has.certificate && services.asksForCertificates)
  if (open) return [oneFewer]
  throw failure('conflict', 'No super administrator could log in by these auth_params.')
}

const shown = (realm: Realm): Realm => ({ ...realm })

export const realmOperations: readonly Operation<AuthServices>[] = [
  define({
    name: 'realms.create',
    route: post('/admins/realms'),
    summary: 'Create a realm',
    tag,
    access: superAdmin,
    request: NewRealm,
    status: 201,
    reply: RealmReply,
    errors: { 409: 'A realm with this id exists.' },
    async act({ body }, context) {
      const realm = readRealm(body.id, body)
      context.audit({ object: realm.id, details: { after: realm } })
      await insertRealm(context.commit, realm)
      return shown(realm)
    },
  }),
  define({
    name: 'realms.list',
    route: get('/admins/realms'),
    summary: 'Realms that the caller administers',
    tag,
    access: anyAdmin,
    queryParameters: PageQuery,
    reply: Type.Array(RealmReply),
    async act({ query }, context) {
      const powers = await powersOfCaller(context)
      const page = readPage(query)
      const read = (one: Page) => listRealms(context.services.db, one)
      if (powers.isSuper) return listReply(page, read, ({ id }) => id, shown)
      const ids = powers.realms.filter((id) => id > page.after).slice(0, page.most)
      const realms = await Promise.all(ids.map((id) => findRealm(context.services.db, id)))
      return realms.filter((realm) => realm !== undefined)
    },
  }),
  define({
    name: 'realms.get',
    route: get('/admins/realms/{realm_id}'),
    summary: 'A realm',
    tag,
    access: anyAdmin,
    pathParameters: RealmPath,
    reply: RealmReply,
    errors: { 404: 'There is no such realm.' },
    async act({ path }, context) {
      const powers = await powersOfCaller(context)
      if (!powers.administers(path.realm_id)) throw failure('forbidden', 'This needs rights over this realm.')
      return realmOrThrow(context.services.db, path.realm_id)
    },
  }),
  define({
    name: 'realms.replace',
    route: put('/admins/realms/{realm_id}'),
    summary: 'Replace the configuration of a realm',
    description:
      'The id of the path counts. Sessions keep the ages that they began with. An identity provider that is no longer ' +
      'listed takes its users’ sessions along.',
    tag,
    access: superAdmin,
    pathParameters: RealmPath,
    request: RealmInput,
    reply: RealmReply,
    errors: {
      404: 'There is no such realm.',
      409: 'No super administrator could log in any more.',
    },
    async act({ path, body }, context) {
      const { db, metrics } = context.services
      const realm = readRealm(path.realm_id, body)
      return retryOnGuard(5, async () => {
        const before = await realmOrThrow(db, path.realm_id)
        context.audit({ object: realm.id, details: { before, after: realm } })
        const guards = await superRealmStaysOpen(context.services, realm)
        countSessions(metrics, 'revoked', await replaceRealm(context.commit, before, realm, guards))
        return shown(realm)
      })
    },
  }),
  define({
    name: 'realms.delete',
    route: del('/admins/realms/{realm_id}'),
    summary: 'Delete a realm with everything that belongs to it',
    tag,
    access: superAdmin,
    pathParameters: RealmPath,
    status: 204,
    async act({ path }, context) {
      if (path.realm_id === superRealm) {
        throw failure('forbidden', 'The realm of the super administrators cannot be deleted.')
      }
      const before = await findRealm(context.services.db, path.realm_id)
      context.audit({ object: path.realm_id, details: { before: before ?? null } })
      const { sessions, tokens } = await removeRealm(context.commit, path.realm_id)
      countSessions(context.services.metrics, 'revoked', sessions)
      countTokens(context.services.metrics, 'revoked', tokens)
    },
  }),
]
