import { Failure, failure } from '@warder/foundation/errors'
import { post } from '@warder/foundation/operations'
import { type Change, GuardFailed, retryOnGuard, UniqueViolation } from '@warder/foundation/sql'
import Type, { type Static } from 'typebox'
import {
  type ApprovalRequest,
  approvalsAmong,
  findRequest,
  hashOf,
  isBeyondReach,
  principalOf,
  stateChange,
  type Vote,
  voteChange,
  votesOn,
  type Wish,
} from '../../access/index.ts'
import { asObjectId, findObject } from '../../keys/index.ts'
import { define, signedIn } from '../../services.ts'
import { destructionOf } from '../rest/delete-key.ts'
import { grantOf, readWanted } from '../rest/grants.ts'
import { attempts, type Context, PathId, Request, tag, told, visible } from './approval-shape.ts'

const VoteRequest = Type.Object({
  hash: Type.String({ description: 'Hash of the request as the officer has read it.' }),
})
const voteErrors = {
  403: 'Not a crypto officer, or the own request.',
  404: 'No such request.',
  409: 'The hash is another one, the officer has decided before, or the request is over.',
}

export const approve = define({
  name: 'access.approvals.approve',
  route: post('/access/approvals/{id}/approve'),
  summary: 'Approve a request; the last approval that it takes carries it out',
  tag,
  access: signedIn,
  pathParameters: PathId,
  request: VoteRequest,
  reply: Request,
  errors: voteErrors,
  act: ({ path, body }, context) => decide(context, path.id, body.hash, true),
})

export const refuse = define({
  name: 'access.approvals.refuse',
  route: post('/access/approvals/{id}/refuse'),
  summary: 'Refuse a request',
  tag,
  access: signedIn,
  pathParameters: PathId,
  request: VoteRequest,
  reply: Request,
  errors: voteErrors,
  act: ({ path, body }, context) => decide(context, path.id, body.hash, false),
})

async function decide(
  context: Context,
  id: string,
  hash: string,
  approves: boolean,
): Promise<Static<typeof Request>> {
  const { db, seal, roles, clock } = context.services
  const { name: user } = principalOf(context)
  if (!roles.officers.listed.has(user)) throw failure('forbidden')
  await retryOnGuard(attempts, async () => {
    const request = await visible(context, id)
    const { wish } = request
    const now = clock.now()
    if (wish.requester === user) throw failure('forbidden', 'Nobody decides about an own request.')
    if (hash !== hashOf(wish)) throw failure('conflict', 'The request is another one: read it again.')
    if (request.state !== 'open') throw failure('conflict', `The request is over: ${request.state}.`)
    if (wish.until <= now) throw failure('conflict', 'The request has expired: it has to be asked for again.')
    const before = await votesOn(db, seal, id)
    if (before.some((vote) => vote.user === user))
      throw failure('conflict', 'You decided about this request before.')
    const vote: Vote = { user, approves, hash, at: now }
    const outcome = await outcomeOf(context, request, [...before, vote])
    await context
      .commit([voteChange(seal, id, vote), stateChange(seal, request, outcome.state), ...outcome.changes])
      .catch(async (error: unknown) => {
        if (error instanceof UniqueViolation) throw new GuardFailed(0)
        throw error
      })
    context.audit({ details: { request: id, operation: wish.operation, state: outcome.state, approves } })
  })
  const done = await findRequest(db, seal, id)
  if (done === undefined) throw failure('not_found', 'There is no such request.')
  return told(context, approves ? 'approval.approved' : 'approval.refused', done)
}

/** What a vote brings about: with the last approval that it takes, the operation itself, in the same commit. */
async function outcomeOf(
  context: Context,
  { wish }: ApprovalRequest,
  votes: readonly Vote[],
): Promise<{ readonly state: ApprovalRequest['state']; readonly changes: readonly Change[] }> {
  const { officers } = context.services.roles
  if (approvalsAmong(votes, wish, officers).length < officers.quorum)
    return { state: isBeyondReach(votes, wish, officers) ? 'refused' : 'open', changes: [] }
  const id = asObjectId(wish.object)
  const object = id === undefined ? undefined : await findObject(context.services.db, id)
  if (id === undefined || object === undefined || object.version !== wish.version)
    return { state: 'void', changes: [] }
  if (wish.operation === 'export') return { state: 'approved', changes: [] }
  // The requester's rights are those of this moment.
  try {
    const { changes } =
      wish.operation === 'destroy'
        ? await destructionOf(context.services, id, wish.requester)
        : await grantOf(context.services, id, wish.requester, {
            user: wish.user ?? '',
            rights: rightsOf(wish),
          })
    return { state: 'done', changes }
  } catch (error) {
    const refused = error instanceof Failure && error.status < 500
    if (!refused) throw error
    return { state: 'void', changes: [] }
  }
}

function rightsOf({ rights = [] }: Wish) {
  const { rights: read } = readWanted({ user_id: 'anybody', operation_types: [...rights] }, '')
  return read
}
