import { failure } from '@warder/foundation/errors'
import { post } from '@warder/foundation/operations'
import Type, { type Static } from 'typebox'
import {
  approvable,
  hashOf,
  keyNotFound,
  principalOf,
  requestChange,
  requireAllowed,
  runningRequests,
  verdictOn,
  type Wish,
} from '../../access/index.ts'
import { asObjectId, findObject, type ManagedObject, newObjectId } from '../../keys/index.ts'
import { define, signedIn } from '../../services.ts'
import { destructionOf } from '../rest/delete-key.ts'
import { grantOf, readWanted } from '../rest/grants.ts'
import { type Context, Request, tag, told } from './approval-shape.ts'

/** Of one requester, under way at one time. */
const mostRunning = 100

const AskRequest = Type.Object({
  operation: Type.Enum([...approvable]),
  key: Type.String({ maxLength: 256 }),
  user_id: Type.Optional(Type.String({ description: 'Of a grant: to whom.' })),
  operation_types: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 64, description: 'Of a grant.' }),
  ),
})

/** `POST /access/approvals`: asks the officers for one operation on one key. */
export const ask = define({
  name: 'access.approvals.ask',
  route: post('/access/approvals'),
  summary: 'Ask the crypto officers to approve an operation',
  tag,
  access: signedIn,
  request: AskRequest,
  reply: Request,
  errors: {
    403: 'The caller has not the right to do it.',
    404: 'No such key.',
    422: 'It takes no approval: do it.',
    429: 'Too many requests of the caller are under way.',
  },
  async act({ body }, context) {
    const { db, seal, roles, clock } = context.services
    const requester = principalOf(context).name
    const now = clock.now()
    context.audit({ object: body.key, details: { operation: body.operation } })
    const { object, about } = await wanted(context, body, requester)
    if (!(await roles.approvals.covers(body.operation, object)))
      throw failure('crypto_failure', 'This takes no approval here: do it.')
    if ((await runningRequests(db, requester, now)) >= mostRunning)
      throw failure('rate_limited', `You have ${mostRunning} requests under way: withdraw some, or wait.`)
    const wish: Wish = {
      id: newObjectId(now),
      operation: body.operation,
      object: object.id,
      version: object.version,
      ...about,
      requester,
      createdAt: now,
      until: now + roles.approvals.validityMs,
    }
    context.audit({ details: { operation: body.operation, request: wish.id, hash: hashOf(wish), ...about } })
    await context.commit([requestChange(seal, wish)])
    return told(context, 'approval.asked', { wish, state: 'open', version: 1 })
  },
})

/** The key, for a requester who could do it but for the approval. @throws failure('not_found' | 'forbidden' | 'bad_request') */
async function wanted(
  context: Context,
  body: Static<typeof AskRequest>,
  requester: string,
): Promise<{ readonly object: ManagedObject; readonly about: Pick<Wish, 'user' | 'rights'> }> {
  const { services } = context
  const id = asObjectId(body.key)
  if (id === undefined) throw keyNotFound()
  if (body.operation === 'destroy') {
    const { objects } = await destructionOf(services, id, requester)
    return { object: objects[0] as ManagedObject, about: {} }
  }
  if (body.operation === 'grant') {
    const { user_id, operation_types } = body
    if (user_id === undefined || operation_types === undefined)
      throw failure('bad_request', 'A grant names user_id and operation_types.')
    const { user, rights, general } = readWanted({ user_id, operation_types }, requester)
    if (general.length > 0)
      throw failure('bad_request', `${general.join(' and ')} is granted without an approval.`)
    const { object } = await grantOf(services, id, requester, { user, rights })
    return { object, about: { user, rights } }
  }
  const object = await findObject(services.db, id)
  if (object === undefined) throw keyNotFound()
  const verdicts = await Promise.all(
    (['get', 'export'] as const).map((right) =>
      verdictOn(services.db, services.roles, object, requester, right),
    ),
  )
  requireAllowed(verdicts.includes('allowed') ? 'allowed' : (verdicts[0] ?? 'nothing'))
  return { object, about: {} }
}
