import { failure, isName } from '@warder/base'
import {
  approvableOnObjects,
  countHoldings,
  endedPrefix,
  findObject,
  governor,
  isGroupOrRoleName,
  listOwnedObjects,
  materialGrantedTo,
  normalizeName,
  type ObjectId,
  storeOfName,
  transfer,
} from '@warder/keys'
import { get, type Operation, post } from '@warder/server'
import Type from 'typebox'
import { define, type RestServices } from './services.ts'

const errors = { 403: 'Only crypto officers, or the default user if no officers are configured.' }
const User = Type.String({ description: 'A user name as in `GET /me`; the owner of objects.' })
/** Deleted owners have longer names than users. */
const maxOwnerLength = 400

/** @throws failure('bad_request') */
function readOwner(member: string, text: string): string {
  const ended = text.startsWith(endedPrefix) && text.length <= maxOwnerLength && text.isWellFormed()
  if ((ended || isName(text)) && text !== '*' && !isGroupOrRoleName(text)) return text
  throw failure('bad_request', `${member} is not the name of a user.`)
}

const pageSize = 1000

/**
 * An owner may do everything with a key, so a single officer cannot transfer a key that requires approvals.
 * @throws failure('conflict')
 */
async function requireNoApprovals({ db, roles }: RestServices, owner: string): Promise<void> {
  for (let after = ''; ; ) {
    const objects = await listOwnedObjects(db, owner, after, pageSize)
    for (const object of objects) {
      for (const operation of approvableOnObjects) {
        if (!(await roles.approvals.covers(operation, object))) continue
        throw failure(
          'conflict',
          `Operations on ${object.id} require the approval of crypto officers, so it cannot be transferred.`,
        )
      }
      after = object.id
    }
    if (objects.length < pageSize) return
  }
}

/**
 * A grant of material that requires approvals is not passed on by one officer either.
 * @throws failure('conflict')
 */
async function requireFreeGrants({ db, roles }: RestServices, user: string): Promise<void> {
  for (let after = ''; ; ) {
    const ids = await materialGrantedTo(db, user, after, pageSize)
    for (const id of ids) {
      const object = await findObject(db, id as ObjectId)
      if (object !== undefined && (await roles.approvals.covers('grant', object)))
        throw failure(
          'conflict',
          `A grant of the material of ${id} requires the approval of crypto officers: revoke this grant, and request one for the other user.`,
        )
      after = id
    }
    if (ids.length < pageSize) return
  }
}

const transferOperation = define({
  name: 'access.transfer',
  reach: ['change owner'],
  route: post('/access/transfer'),
  summary: 'Transfer the objects and grants of a user to another user',
  tag: 'Access',
  access: governor,
  request: Type.Object({ from_user_id: User, to_user_id: User }),
  reply: Type.Object({ objects: Type.Integer(), grants: Type.Integer() }),
  errors: { ...errors, 409: 'Operations on one of the objects require the approval of officers.' },
  async act({ body }, context) {
    const from = readOwner('from_user_id', body.from_user_id)
    const to = readOwner('to_user_id', body.to_user_id)
    for (const [member, name] of Object.entries({ from_user_id: from, to_user_id: to }))
      if (storeOfName(normalizeName(name)) !== undefined)
        throw failure(
          'bad_request',
          `${member} is a principal of a cloud: grant and revoke rights of clouds for each key.`,
        )
    if (from === to) throw failure('bad_request', 'to_user_id is the current owner.')
    if (to.startsWith(endedPrefix)) throw failure('bad_request', 'to_user_id is a deleted user.')
    const { db, clock, roles } = context.services
    // Officers manage keys but do not use them, so they cannot transfer keys to themselves or to one another.
    if (roles.officers.listed.has(to))
      throw failure('forbidden', 'Keys of other users cannot be transferred to crypto officers.')
    await requireNoApprovals(context.services, from)
    await requireFreeGrants(context.services, from)
    const before = await countHoldings(db, from)
    context.audit({ object: from, details: { to, owned: before.owned, granted: before.granted } })
    const approvesGrants = roles.approvals.coversAny('grant')
    return await transfer({ db, commit: context.commit, now: () => clock.now(), approvesGrants }, from, to)
  },
})

const holdings = define({
  name: 'access.holdings',
  reach: ['reveal grants'],
  route: get('/access/holdings'),
  summary: 'Number of objects of a user, and of objects with grants to the user',
  tag: 'Access',
  access: governor,
  queryParameters: Type.Object({
    user_id: User,
    realm: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{1,64}$',
        description: 'Realm of the authentication service; `user_id` is then a username of it.',
      }),
    ),
  }),
  reply: Type.Object({ user_id: Type.String(), owned: Type.Integer(), granted: Type.Integer() }),
  errors,
  async act({ query }, { services }) {
    const { db, nameOf } = services
    const named = query.realm === undefined ? query.user_id : nameOf(query.realm, query.user_id)
    const user = readOwner('user_id', named)
    return { user_id: user, ...(await countHoldings(db, user)) }
  },
})

export const transferOperations: readonly Operation<RestServices>[] = [transferOperation, holdings]
