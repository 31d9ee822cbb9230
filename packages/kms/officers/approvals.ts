import { failure } from '@warder/base'
import { findRequest, listRequests, requirePrincipal, signedIn, stateChange } from '@warder/keys'
import { get, type Operation, pageReply, post } from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import Type from 'typebox'
import { ask } from './approval-ask.ts'
import { attempts, formatWithNames, notifyOfficers, PathId, Request, tag, visible } from './approval-shape.ts'
import { approve, refuse } from './approval-vote.ts'
import { define, type OfficerServices } from './services.ts'

const Page = Type.Object({
  after: Type.Optional(Type.String({ maxLength: 64 })),
  limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,4}$', description: '1 to 1000, default 100.' })),
})

const list = define({
  name: 'access.approvals.list',
  reach: ['reveal attributes'],
  route: get('/access/approvals'),
  summary: 'Requests for approval: officers see all, other users their own',
  tag,
  access: signedIn,
  queryParameters: Page,
  paged: true,
  reply: Type.Array(Request),
  async act({ query }, context) {
    const { db, seal, roles } = context.services
    const { name } = requirePrincipal(context)
    const limit = Math.max(1, Math.min(Number(query.limit ?? '100'), 1000))
    const requester = roles.officers.listed.has(name) ? undefined : name
    const requests = await listRequests(db, seal, { requester, after: query.after ?? '', limit })
    const json = await Promise.all(requests.map((request) => formatWithNames(context, request)))
    return pageReply(json, json.length < limit ? undefined : json.at(-1)?.id)
  },
})

const show = define({
  name: 'access.approvals.get',
  reach: ['reveal attributes'],
  route: get('/access/approvals/{id}'),
  summary: 'One request for approval',
  tag,
  access: signedIn,
  pathParameters: PathId,
  reply: Request,
  errors: { 404: 'No such request.' },
  act: async ({ path }, context) => formatWithNames(context, await visible(context, path.id)),
})

const withdraw = define({
  name: 'access.approvals.withdraw',
  reach: ['change settings'],
  route: post('/access/approvals/{id}/withdraw'),
  summary: 'Withdraw an own request',
  tag,
  access: signedIn,
  pathParameters: PathId,
  reply: Request,
  errors: {
    403: 'The request belongs to another user.',
    404: 'No such request.',
    409: 'The request is closed.',
  },
  async act({ path }, context) {
    const { seal, db } = context.services
    await retryOnGuard(attempts, async () => {
      const request = await visible(context, path.id)
      if (request.wish.requester !== requirePrincipal(context).name)
        throw failure('forbidden', 'Only the requester can withdraw it.')
      if (request.state !== 'open' && request.state !== 'approved')
        throw failure('conflict', `The request is closed: ${request.state}.`)
      await context.commit([stateChange(seal, request, 'withdrawn')])
    })
    const done = await findRequest(db, seal, path.id)
    if (done === undefined) throw failure('not_found', 'There is no such request.')
    return notifyOfficers(context, 'approval.withdrawn', done)
  },
})

export const approvalOperations: readonly Operation<OfficerServices>[] = [
  ask,
  list,
  show,
  approve,
  refuse,
  withdraw,
]
