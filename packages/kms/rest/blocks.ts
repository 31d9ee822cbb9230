import { failure, isName } from '@warder/base'
import {
  approvalNeeded,
  blockChanges,
  countBlocks,
  governor,
  isEveryPrincipal,
  isStoreItself,
  listBlocks,
  maxBlocks,
  normalizeName,
  readBlocks,
  requirePrincipal,
  unblockChanges,
} from '@warder/keys'
import { del, get, type Operation, pageReply, post } from '@warder/server'
import Type from 'typebox'
import { define, type RestServices } from './services.ts'

const Named = Type.String({
  description: 'A user name as in `GET /me`; `app:` and the entity for a machine.',
})
const Done = Type.Object({ success: Type.String() })
const pageSize = 1000
const errors = { 403: 'Only crypto officers, or the default user if no officers are configured.' }

/**
 * The name in the form in which it is compared. @throws failure('bad_request') for names that no credential can have
 */
function readUser(text: string): string {
  if (!isName(text) || text === '*') throw failure('bad_request', 'user_id is not the name of a user.')
  const name = normalizeName(text)
  if (isEveryPrincipal(name))
    throw failure(
      'bad_request',
      `${name} names every principal of a cloud: stop the external key store (POST /v1/external-stores/NAME/stop), or delete its access keys for AWS.`,
    )
  return name
}

const block = define({
  name: 'access.block',
  reach: ['change settings'],
  route: post('/access/block'),
  summary: 'Block a user: all requests are rejected, with any credential',
  tag: 'Access',
  access: governor,
  request: Type.Object({
    user_id: Named,
    reason: Type.Optional(
      Type.String({ maxLength: 1024, description: 'Reason, for the list and the audit log.' }),
    ),
  }),
  reply: Done,
  errors: { ...errors, 409: 'The maximum number of users is blocked.' },
  async act({ body }, context) {
    const { db, clock, roles } = context.services
    const user = readUser(body.user_id)
    const { name: by } = requirePrincipal(context)
    const reason = body.reason ?? ''
    context.audit({ object: user, details: { reason } })
    if (user === by) throw failure('bad_request', 'You cannot block yourself.')
    if (isStoreItself(user) && roles.approvals.takes('stop_store'))
      throw approvalNeeded('stop_store', roles.officers)
    if ((await countBlocks(db)) >= maxBlocks)
      throw failure('conflict', `${maxBlocks} users are blocked, the maximum: unblock former users.`)
    await context.commit(blockChanges(db, { user, at: clock.now(), by, reason }))
    await context.services.notices?.tell('block', { user, by, reason }, { object: user })
    return { success: `${user} is blocked` }
  },
})

const unblock = define({
  name: 'access.unblock',
  reach: ['change settings'],
  route: del('/access/block'),
  summary: 'Unblock a user',
  tag: 'Access',
  access: governor,
  request: Type.Object({ user_id: Named }),
  reply: Done,
  errors,
  async act({ body }, context) {
    const user = readUser(body.user_id)
    context.audit({ object: user })
    const { db } = context.services
    // Names that were blocked before names were normalized are in the list as they were written.
    const names = [...((await readBlocks(db))?.value ?? [])].filter((name) => normalizeName(name) === user)
    if (names.length > 0) await context.commit(names.flatMap((name) => unblockChanges(db, name)))
    if (names.length > 0) {
      const { name: by } = requirePrincipal(context)
      await context.services.notices?.tell('block.lifted', { user, by }, { object: user })
    }
    return { success: names.length > 0 ? `${user} is no longer blocked` : `${user} was not blocked` }
  },
})

const blocked = define({
  name: 'access.blocked',
  reach: ['reveal existence'],
  route: get('/access/block'),
  summary: 'Blocked users, in pages',
  tag: 'Access',
  access: governor,
  queryParameters: Type.Object({
    after: Type.Optional(Type.String({ maxLength: 512, description: 'Last user of the previous page.' })),
  }),
  paged: true,
  reply: Type.Array(
    Type.Object({
      user_id: Type.String(),
      blocked_at: Type.Integer({ description: 'Unix seconds.' }),
      blocked_by: Type.String(),
      reason: Type.String(),
    }),
  ),
  errors,
  async act({ query }, { services }) {
    const after = query.after ?? ''
    if (/\p{Cc}/u.test(after) || !after.isWellFormed()) throw failure('bad_request', 'after is not a user.')
    const page = await listBlocks(services.db, after, pageSize)
    const json = page.map(({ user, at, by, reason }) => ({
      user_id: user,
      blocked_at: Math.floor(at / 1000),
      blocked_by: by,
      reason,
    }))
    return pageReply(json, page.length < pageSize ? undefined : page.at(-1)?.user)
  },
})

export const blockOperations: readonly Operation<RestServices>[] = [block, unblock, blocked]
