import { failure, type Metrics } from '@warder/base'
import { defineOperation, del, get, type Operation, pageReply, post, put } from '@warder/server'
import { type Change, type Database, retryOnGuard } from '@warder/storage'
import Type from 'typebox'
import { anyAdmin, requirePowers, superAdmin } from '../callers.ts'
import { countSessions, countTokens } from '../counting.ts'
import { listReply, type Page, PageQuery, readPage } from '../paging.ts'
import {
  type Realm,
  RealmId,
  type RealmMember,
  RealmPath,
  RealmReply,
  readRealm,
  realmInput,
  superRealm,
} from './realm.ts'
import {
  findRealm,
  insertRealm,
  listRealms,
  type RealmEndings,
  realmOrThrow,
  removeRealm,
  replaceRealm,
} from './realm-store.ts'

export interface RealmServices {
  readonly db: Database
  readonly metrics: Metrics
  /** Unix seconds. */
  now(): number
}

/** Rules of the login methods about realms. */
export interface RealmRules<Services> {
  /** The members of `auth_params`. */
  readonly members: readonly RealmMember[]
  /**
   * Guards of a commit that replaces `before` with `after`.
   * @throws failure('conflict') when no administrator could manage the service any more, or another user could
   */
  guardsOf(services: Services, before: Realm, after: Realm): Promise<readonly Change[]>
  /** Sessions and logins that end when `after` replaces `before`. */
  endingsOf(services: Services, before: Realm, after: Realm): RealmEndings
  /** Entries for the revocation feed when the realm is created. */
  creationOf(services: Services, realm: Realm): readonly Change[]
  /** Entries for the revocation feed when the realm is deleted; committed before its rows are removed. */
  deletionOf(services: Services, realm: string): readonly Change[]
}

const tag = 'Realms'
const copyRealm = (realm: Realm): Realm => ({ ...realm })

export function realmOperations<Services extends RealmServices>(
  rules: RealmRules<Services>,
): readonly Operation<Services>[] {
  return [
    createOperation(rules),
    listOperation(),
    getOperation(),
    replaceOperation(rules),
    deleteOperation(rules),
  ]
}

function createOperation<Services extends RealmServices>(rules: RealmRules<Services>): Operation<Services> {
  const RealmInput = realmInput(rules.members)
  /** `id` is required if the path does not contain it. */
  const NewRealm = Type.Intersect([RealmInput, Type.Object({ id: RealmId })])
  return defineOperation<Services>()({
    name: 'realms.create',
    reach: ['make object'],
    route: post('/admins/realms'),
    summary: 'Create a realm',
    tag,
    access: superAdmin,
    request: NewRealm,
    status: 201,
    reply: RealmReply,
    errors: { 409: 'A realm with this id exists.' },
    async act({ body }, context) {
      const realm = readRealm(rules.members, body.id, body, context.services.now())
      context.audit({ object: realm.id, details: { after: realm } })
      await insertRealm(context.commit, realm, rules.creationOf(context.services, realm))
      return copyRealm(realm)
    },
  })
}

function listOperation<Services extends RealmServices>(): Operation<Services> {
  return defineOperation<Services>()({
    name: 'realms.list',
    reach: ['reveal attributes'],
    route: get('/admins/realms'),
    summary: 'Realms that the caller administers',
    tag,
    access: anyAdmin,
    queryParameters: PageQuery,
    paged: true,
    reply: Type.Array(RealmReply),
    async act({ query }, context) {
      const powers = await requirePowers(context)
      const page = readPage(query)
      const read = (one: Page) => listRealms(context.services.db, one)
      if (powers.isSuper) return listReply(page, read, ({ id }) => id, copyRealm)
      const ids = powers.realms.filter((id) => id > page.after).slice(0, page.limit)
      const realms = await Promise.all(ids.map((id) => findRealm(context.services.db, id)))
      const json = realms.filter((realm) => realm !== undefined)
      return pageReply(json, ids.length < page.limit ? undefined : ids.at(-1))
    },
  })
}

function getOperation<Services extends RealmServices>(): Operation<Services> {
  return defineOperation<Services>()({
    name: 'realms.get',
    reach: ['reveal attributes'],
    route: get('/admins/realms/{realm_id}'),
    summary: 'A realm',
    tag,
    access: anyAdmin,
    pathParameters: RealmPath,
    reply: RealmReply,
    errors: { 404: 'There is no such realm.' },
    async act({ path }, context) {
      const powers = await requirePowers(context)
      if (!powers.administers(path.realm_id)) throw failure('forbidden', 'This needs rights over this realm.')
      return realmOrThrow(context.services.db, path.realm_id)
    },
  })
}

function replaceOperation<Services extends RealmServices>(rules: RealmRules<Services>): Operation<Services> {
  return defineOperation<Services>()({
    name: 'realms.replace',
    reach: ['change settings'],
    route: put('/admins/realms/{realm_id}'),
    summary: 'Replace the configuration of a realm',
    description:
      'The id in the path applies. Existing sessions keep their maximum ages. If an identity provider is no longer ' +
      'listed, the sessions of its users end.',
    tag,
    access: superAdmin,
    pathParameters: RealmPath,
    request: realmInput(rules.members),
    reply: RealmReply,
    errors: {
      404: 'There is no such realm.',
      409: 'No super administrator could log in any more, or Admins refer to users of a removed identity provider.',
    },
    async act({ path, body }, context) {
      const { db, metrics } = context.services
      const realm = readRealm(rules.members, path.realm_id, body, context.services.now())
      return retryOnGuard(5, async () => {
        const before = await realmOrThrow(db, path.realm_id)
        context.audit({ object: realm.id, details: { before, after: realm } })
        const guards = await rules.guardsOf(context.services, before, realm)
        const endings = rules.endingsOf(context.services, before, realm)
        countSessions(metrics, 'revoked', await replaceRealm(context.commit, before, realm, guards, endings))
        return copyRealm(realm)
      })
    },
  })
}

function deleteOperation<Services extends RealmServices>(rules: RealmRules<Services>): Operation<Services> {
  return defineOperation<Services>()({
    name: 'realms.delete',
    reach: ['end object', 'end credential', 'end session'],
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
      const { sessions, tokens } = await removeRealm(
        context.commit,
        path.realm_id,
        rules.deletionOf(context.services, path.realm_id),
      )
      countSessions(context.services.metrics, 'revoked', sessions)
      countTokens(context.services.metrics, 'revoked', tokens)
    },
  })
}
