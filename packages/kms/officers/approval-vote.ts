import { Failure, failure } from '@warder/base'
import { stopChanges } from '@warder/external-stores'
import {
  type ApprovalRequest,
  activationChange,
  approvalsAmong,
  asObjectId,
  findObject,
  findRequest,
  hasExternalRight,
  hashRequest,
  isBeyondReach,
  readSetCredentials,
  releaseChanges,
  requirePrincipal,
  requiresActivation,
  requireVoteCredential,
  signedIn,
  stateChange,
  type Vote,
  voteChange,
  votersAmong,
  votesOn,
  type Wish,
} from '@warder/keys'
import { post } from '@warder/server'
import { type Change, GuardFailed, retryOnGuard, UniqueViolation } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { destructionWaitDays } from '../rest/delete-key.ts'
import { storeNamed } from '../rest/external-stores.ts'
import { readWanted, toGrant } from '../rest/grants.ts'
import {
  attempts,
  type Context,
  notifyOfficers,
  PathId,
  Reason,
  Request,
  tag,
  toReason,
  visible,
} from './approval-shape.ts'
import { define } from './services.ts'

const VoteRequest = Type.Object({
  hash: Type.String({ description: 'Hash of the request that the officer has read.' }),
})
const RefusalRequest = Type.Object({ ...VoteRequest.properties, reason: Type.Optional(Reason) })
const voteErrors = {
  403: 'The caller is not a crypto officer, or it is a request of the caller.',
  404: 'No such request.',
  409: 'The hash differs, the officer has already decided, or the request is closed.',
}

export const approve = define({
  name: 'access.approvals.approve',
  reach: ['change settings'],
  route: post('/access/approvals/{id}/approve'),
  summary: 'Approve a request; the last required approval executes it',
  tag,
  access: signedIn,
  pathParameters: PathId,
  request: VoteRequest,
  reply: Request,
  errors: voteErrors,
  act: ({ path, body }, context) => decide(context, path.id, { approves: true, hash: body.hash }),
})

export const refuse = define({
  name: 'access.approvals.refuse',
  reach: ['change settings'],
  route: post('/access/approvals/{id}/refuse'),
  summary: 'Refuse a request',
  tag,
  access: signedIn,
  pathParameters: PathId,
  request: RefusalRequest,
  reply: Request,
  errors: voteErrors,
  act: ({ path, body }, context) =>
    decide(context, path.id, { approves: false, hash: body.hash, ...toReason(body.reason) }),
})

/** @throws failure('forbidden') for an officer who has to be activated before voting */
async function requireActivated({ services }: Context, user: string): Promise<void> {
  const { db, roles, clock } = services
  if (!roles.officers.requireCeremony) return
  const setAt = (await readSetCredentials(db)).get(user)
  if (await requiresActivation(db, user, setAt, clock.now()))
    throw failure(
      'forbidden',
      'Another officer ended your activation, or an administrator set your credential since: you can decide again after a ceremony.',
    )
}

async function decide(
  context: Context,
  id: string,
  cast: Pick<Vote, 'approves' | 'hash' | 'reason'>,
): Promise<Static<typeof Request>> {
  const { approves, hash } = cast
  const { db, seal, roles, clock } = context.services
  const principal = requirePrincipal(context)
  const { name: user, method } = principal
  if (!roles.officers.listed.has(user)) throw failure('forbidden')
  await requireVoteCredential(db, roles.approvals, principal, clock.now())
  await requireActivated(context, user)
  await retryOnGuard(attempts, async () => {
    const request = await visible(context, id)
    const { wish } = request
    const now = clock.now()
    if (wish.requester === user) throw failure('forbidden', 'You cannot decide on your own request.')
    if (hash !== hashRequest(wish))
      throw failure('conflict', 'The hash does not match the request: read the request again.')
    if (request.state !== 'open') throw failure('conflict', `The request is closed: ${request.state}.`)
    if (wish.until <= now) throw failure('conflict', 'The request has expired: send it again.')
    const before = await votesOn(db, seal, id)
    if (before.some((vote) => vote.user === user))
      throw failure('conflict', 'You have already decided on this request.')
    const vote: Vote = { ...cast, user, at: now, method }
    const outcome = await carryOutRequest(context, request, [...before, vote])
    await context
      .commit([voteChange(seal, id, vote), stateChange(seal, request, outcome.state), ...outcome.changes])
      .catch(async (error: unknown) => {
        if (error instanceof UniqueViolation) throw new GuardFailed(0)
        throw error
      })
    context.audit({
      details: {
        request: id,
        operation: wish.operation,
        state: outcome.state,
        ...toReason(cast.reason),
        approves,
      },
    })
  })
  const done = await findRequest(db, seal, id)
  if (done === undefined) throw failure('not_found', 'There is no such request.')
  return notifyOfficers(context, approves ? 'approval.approved' : 'approval.refused', done)
}

/** Result of a vote: with the last approval needed, the operation itself, in the same commit. */
async function carryOutRequest(
  context: Context,
  { wish }: ApprovalRequest,
  votes: readonly Vote[],
): Promise<{ readonly state: ApprovalRequest['state']; readonly changes: readonly Change[] }> {
  const { db, seal, roles, clock } = context.services
  const { officers } = roles
  const voters = await votersAmong(db, officers, clock.now())
  const approvers = approvalsAmong(votes, wish, voters, roles.approvals)
  if (approvers.length < officers.quorum)
    return { state: isBeyondReach(votes, wish, officers) ? 'refused' : 'open', changes: [] }
  const { operation } = wish
  // Used later: by the next start, by `warder root-key rotate`, or by the requester, the only one who gets the secret.
  if (operation === 'settings' || operation === 'root_key' || operation === 'access_key')
    return { state: 'approved', changes: [] }
  if (operation === 'restore_backup') {
    const released = await releaseChanges(db, seal, wish)
    return released === undefined ? { state: 'void', changes: [] } : { state: 'done', changes: released }
  }
  if (operation === 'activate') return activateRequest(context, wish, approvers)
  if (operation === 'stop_store' || operation === 'start_store') return switchOperation(context, wish)
  const id = asObjectId(wish.object)
  const object = id === undefined ? undefined : await findObject(db, id)
  if (id === undefined || object === undefined || object.version !== wish.version)
    return { state: 'void', changes: [] }
  if (wish.operation === 'export') return { state: 'approved', changes: [] }
  // The requester's rights are those of this moment; roles are known only in the requester's own requests.
  const requester = { name: wish.requester }
  try {
    const { changes } =
      wish.operation === 'destroy'
        ? await destructionWaitDays(context.services, id, requester)
        : await toGrant(context.services, id, requester, {
            user: wish.user ?? '',
            rights: readRights(wish),
          })
    return { state: 'done', changes }
  } catch (error) {
    const refused = error instanceof Failure && error.status < 500
    if (!refused) throw error
    return { state: 'void', changes: [] }
  }
}

/** Activates the requester as after a ceremony; void if the requester was removed from the settings meanwhile. */
function activateRequest(
  { services: { seal, roles, clock } }: Context,
  { id, requester: user }: Wish,
  approvers: readonly string[],
): Awaited<ReturnType<typeof carryOutRequest>> {
  const { listed, requireCeremony, validityMs } = roles.officers
  if (!listed.has(user) || !requireCeremony) return { state: 'void', changes: [] }
  const activatedAt = clock.now()
  const participants = approvers.toSorted()
  const activation = { user, ceremony: id, participants, activatedAt, until: activatedAt + validityMs }
  return { state: 'done', changes: [activationChange(seal, activation)] }
}

/** Stops or resumes the external key store on behalf of the requester; the request is void if that was done before. */
async function switchOperation(
  { services }: Context,
  { object, version, operation, requester }: Wish,
): Promise<Awaited<ReturnType<typeof carryOutRequest>>> {
  const { db, roles, defaultUsername, clock } = services
  const store = storeNamed(object)
  const now = await services.external.stopSwitch.state(store)
  const may = await hasExternalRight(db, roles, defaultUsername, requester)
  if (now.version !== version || !may) return { state: 'void', changes: [] }
  const stopped = operation === 'stop_store' ? { at: clock.now(), by: requester } : undefined
  return { state: 'done', changes: stopChanges(db, store, version, stopped) }
}

function readRights({ rights = [] }: Wish) {
  const { rights: read } = readWanted({ user_id: 'user', operation_types: [...rights] }, '')
  return read
}
