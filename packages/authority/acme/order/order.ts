import { type Operation, post } from '@warder/server'
import Type from 'typebox'
import { acmeProblem, createProblem } from '../protocol/problem.ts'
import { type AcmeServices, define } from '../protocol/services.ts'
import { accountCaller, byAccount, payloadObject, requirePostAsGet } from '../request/caller.ts'
import { commitOrConflict } from '../request/commit.ts'
import type { AcmeEnvironment } from '../request/environment.ts'
import { resourceErrors, resourceReply, resourceRow, signedByAcme } from '../request/row.ts'
import { findAuthorization, listAuthorizations, updateAuthorization } from '../stored/authorization-store.ts'
import { findOrder, updateOrder } from '../stored/order-store.ts'
import { authorizationObject, orderObject } from './order-object.ts'

/** `POST …/order/{order}` (RFC 8555 §7.4). */
export function orderOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...resourceRow(environment),
    name: 'acme.order',
    reach: [],
    route: post('/acme/{authority}/order/{order}'),
    summary: 'Read an order',
    access: signedByAcme,
    pathParameters: Type.Object({ authority: Type.String(), order: Type.String() }),
    errors: resourceErrors,
    authenticate: byAccount(environment),
    async act({ path }, context) {
      const caller = accountCaller(context)
      requirePostAsGet(caller)
      const { account, urls } = caller
      const { db, clock } = context.services
      const order = await findOrder(db, path.order, account.id, clock.now())
      if (order === undefined) throw acmeProblem('notFound', 'The account has no such order.')
      const parts = await listAuthorizations(db, order.id)
      return resourceReply(environment, urls, {
        location: urls.order(order.id),
        json: orderObject(order, parts, urls),
      })
    },
  })
}

/** `POST …/authorization/{authorization}` (RFC 8555 §7.5, §7.5.2): reads or deactivates an authorization. */
export function authorizationOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...resourceRow(environment),
    name: 'acme.authorization',
    reach: [],
    route: post('/acme/{authority}/authorization/{authorization}'),
    summary: 'Read or deactivate an authorization',
    access: signedByAcme,
    pathParameters: Type.Object({ authority: Type.String(), authorization: Type.String() }),
    errors: resourceErrors,
    authenticate: byAccount(environment),
    async act({ path }, context) {
      const caller = accountCaller(context)
      const { account, urls, payload } = caller
      const { db, clock } = context.services
      const now = clock.now()
      const found = await findAuthorization(db, path.authorization, account.id, now)
      if (found === undefined) throw acmeProblem('notFound', 'The account has no such authorization.')
      const reply = (status: typeof found.status) =>
        resourceReply(environment, urls, { json: authorizationObject({ ...found, status }, urls) })
      if (payload.length === 0) return reply(found.status)
      if (payloadObject(caller).status !== 'deactivated')
        throw acmeProblem('malformed', "'status' of an authorization can only be set to deactivated.")
      if (found.status !== 'pending' && found.status !== 'valid')
        throw acmeProblem('malformed', `The authorization is ${found.status}.`)
      const order = await findOrder(db, found.orderId, account.id, now)
      const isOpen = order?.status === 'pending' || order?.status === 'ready'
      const error = createProblem('unauthorized', 'The account deactivated an authorization.')
      await commitOrConflict(context.commit, [
        updateAuthorization(found, { status: 'deactivated' }),
        ...(order !== undefined && isOpen ? [updateOrder(order, { status: 'invalid', error })] : []),
      ])
      return reply('deactivated')
    },
  })
}
