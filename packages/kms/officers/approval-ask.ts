import { failure } from '@warder/base'
import { regionProblem, uriPrefixProblem } from '@warder/external-stores'
import {
  type ApprovableOnObject,
  type Askable,
  approvableOnObjects,
  askable,
  digestOfGovernance,
  findHold,
  findObject,
  getChainId,
  hasExternalRight,
  hashRequest,
  keyNotFound,
  type ManagedObject,
  newObjectId,
  requestChange,
  requireAllowed,
  requirePermittedKey,
  requirePrincipal,
  requireVoteCredential,
  resolveKid,
  runningRequests,
  signedIn,
  verdictOn,
  type Wish,
} from '@warder/keys'
import { post } from '@warder/server'
import Type, { type Static } from 'typebox'
import { destructionWaitDays } from '../rest/delete-key.ts'
import { storeNamed } from '../rest/external-stores.ts'
import { requireGrantee } from '../rest/grantee.ts'
import { readWanted, toGrant } from '../rest/grants.ts'
import { type Context, notifyOfficers, Reason, Request, tag, toReason } from './approval-shape.ts'
import { define, type OfficerServices } from './services.ts'
import { governanceIn, Settings } from './settings-shape.ts'

/** Max unfinished requests of one requester. */
const maxRunning = 100

const AskRequest = Type.Object({
  operation: Type.Enum([...askable], {
    description: 'activate: the caller becomes an active crypto officer, like after a ceremony.',
  }),
  key: Type.Optional(Type.String({ maxLength: 256, description: 'For destroy, export and grant: the key.' })),
  store: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'For stop_store and start_store: aws, google, microsoft or azure.',
    }),
  ),
  region: Type.Optional(
    Type.String({ maxLength: 64, description: 'For access_key: the AWS region of the key store.' }),
  ),
  uri_prefix: Type.Optional(
    Type.String({
      maxLength: 128,
      description: 'For access_key: the path before `/kms/xks/v1`; default /aws.',
    }),
  ),
  settings: Type.Optional(Settings),
  user_id: Type.Optional(Type.String({ description: 'For a grant: the user.' })),
  operation_types: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 64, description: 'Of a grant.' }),
  ),
  wrapping_key: Type.Optional(
    Type.String({
      maxLength: 256,
      description: 'For an export: the only key that may wrap the material.',
    }),
  ),
  reason: Type.Optional(Reason),
  known: Type.Optional(
    Type.Boolean({ description: 'For a grant: true as in `/access/grant`, the user must be known.' }),
  ),
})
type Ask = Static<typeof AskRequest>

/** `POST /access/approvals`: requests the approval of one operation on one key, or on the installation. */
export const ask = define({
  name: 'access.approvals.ask',
  reach: ['change settings'],
  route: post('/access/approvals'),
  summary: 'Request the approval of the crypto officers for an operation',
  tag,
  access: signedIn,
  request: AskRequest,
  reply: Request,
  errors: {
    403: 'The caller lacks the right for the operation.',
    404: 'There is no such key or store.',
    422: 'The operation requires no approval.',
    429: 'The caller has too many open requests.',
  },
  async act({ body }, context) {
    const { db, seal, roles, clock } = context.services
    const requester = requirePrincipal(context).name
    const now = clock.now()
    context.audit({
      ...(body.key !== undefined && { object: body.key }),
      details: { operation: body.operation },
    })
    const about = isOnObject(body.operation)
      ? await requestOnKey(context, body, body.operation, requester)
      : await requestOnInstallation(context, body, body.operation, requester)
    if ((await runningRequests(db, requester, now)) >= maxRunning)
      throw failure('rate_limited', `You have ${maxRunning} open requests: withdraw some, or wait.`)
    const wish: Wish = {
      id: newObjectId(now),
      operation: body.operation,
      ...about,
      ...toReason(body.reason),
      requester,
      createdAt: now,
      until: now + roles.approvals.validityMs,
    }
    context.audit({
      object: wish.object,
      details: {
        ...about,
        ...toReason(body.reason),
        operation: body.operation,
        request: wish.id,
        hash: hashRequest(wish),
      },
    })
    await context.commit([requestChange(seal, wish)])
    return notifyOfficers(context, 'approval.asked', { wish, state: 'open', version: 1 })
  },
})

/** Subject of a request, besides its operation. */
type About = Pick<
  Wish,
  'object' | 'version' | 'user' | 'rights' | 'wrappedBy' | 'settings' | 'restore' | 'credential'
>

function isOnObject(operation: Askable): operation is ApprovableOnObject {
  return approvableOnObjects.some((one) => one === operation)
}

async function requestOnKey(
  context: Context,
  body: Ask,
  operation: ApprovableOnObject,
  requester: string,
): Promise<About> {
  if (body.key === undefined) throw failure('bad_request', `${operation} requires key.`)
  const { objects, about } = await buildRequest(context, { ...body, key: body.key }, requester)
  const { approvals } = context.services.roles
  const [object] = objects
  if (object === undefined) throw keyNotFound()
  for (const part of objects)
    if (await approvals.covers(operation, part))
      return { object: object.id, version: object.version, ...about }
  throw takesNone()
}

/** @throws failure('forbidden' | 'not_found' | 'bad_request' | 'crypto_failure') */
async function requestOnInstallation(
  context: Context,
  { store, settings, region, uri_prefix: uriPrefix = '/aws' }: Ask,
  operation: Exclude<Askable, ApprovableOnObject>,
  requester: string,
): Promise<About> {
  const { services } = context
  const { db, roles, defaultUsername } = services
  if (operation === 'stop_store' || operation === 'start_store') {
    if (!(await hasExternalRight(db, roles, defaultUsername, requester))) throw failure('forbidden')
    const name = storeNamed(store)
    if (!roles.approvals.takes(operation)) throw takesNone()
    const { version } = await services.external.stopSwitch.state(name)
    return { object: name, version }
  }
  if (operation === 'access_key') {
    if (!(await hasExternalRight(db, roles, defaultUsername, requester))) throw failure('forbidden')
    if (!roles.approvals.takes(operation)) throw takesNone()
    const problem = regionProblem(region ?? '') ?? uriPrefixProblem(uriPrefix)
    if (region === undefined || problem !== undefined) throw failure('bad_request', `${problem}.`)
    return { object: 'aws', version: 0, credential: { uriPrefix, region } }
  }
  if (!roles.officers.listed.has(requester)) throw failure('forbidden')
  if (operation === 'activate') {
    await requireVoteCredential(db, roles.approvals, requirePrincipal(context), services.clock.now())
    if (roles.officers.requireCeremony) return { object: requester, version: 0 }
    throw failure('crypto_failure', 'The settings alone name the officers, and all of them are active.')
  }
  if (!roles.approvals.takes(operation)) throw takesNone()
  if (operation === 'root_key') return { object: 'root_key', version: 0 }
  if (operation === 'restore_backup') return findHeldBackup(services)
  if (settings === undefined)
    throw failure('bad_request', 'settings is required: [roles] and [approvals] for the next start.')
  const governance = governanceIn(settings)
  return { object: digestOfGovernance(governance), version: 0, settings: governance }
}

/** @throws failure('crypto_failure') if nothing waits */
async function findHeldBackup({ db, seal }: OfficerServices): Promise<About> {
  const hold = (await findHold(db, seal))?.value
  if (hold?.state !== 'held')
    throw failure('crypto_failure', 'No restored backup is waiting for an approval.')
  const { backup, madeAt, restoredAt } = hold
  return { object: backup, version: 0, restore: { madeAt, restoredAt } }
}

function takesNone(): Error {
  return failure('crypto_failure', 'This operation requires no approval: send it directly.')
}

/**
 * The key and its dependent objects, for a requester who lacks only the approval.
 * @throws failure('not_found' | 'forbidden' | 'bad_request')
 */
async function buildRequest(
  context: Context,
  body: Ask & { readonly key: string },
  requester: string,
): Promise<{
  readonly objects: readonly ManagedObject[]
  readonly about: Pick<Wish, 'user' | 'rights' | 'wrappedBy'>
}> {
  const { services } = context
  const principal = requirePrincipal(context)
  const id = await resolveKid(services, requester, body.key)
  if (id === undefined) throw keyNotFound()
  if (body.operation === 'destroy') {
    const { objects, users } = await destructionWaitDays(services, id, principal)
    return { objects: [...objects, ...users], about: {} }
  }
  if (body.operation === 'grant') {
    const { user_id, operation_types } = body
    if (user_id === undefined || operation_types === undefined)
      throw failure('bad_request', 'A grant requires user_id and operation_types.')
    const { user: named, rights, general } = readWanted({ user_id, operation_types }, requester)
    if (general.length > 0)
      throw failure('bad_request', `${general.join(' and ')} can be granted without an approval.`)
    const { object } = await toGrant(services, id, principal, { user: named, rights })
    const user = body.known === true ? await requireGrantee(services, named) : named
    return { objects: [object], about: { user, rights } }
  }
  const object = await findObject(services.db, id)
  if (object === undefined) throw keyNotFound()
  const verdicts = await Promise.all(
    (['get', 'export'] as const).map((right) =>
      verdictOn(services.db, services.roles, object, principal, right),
    ),
  )
  requireAllowed(verdicts.includes('allowed') ? 'allowed' : (verdicts[0] ?? 'nothing'))
  const { wrapping_key: wrapping } = body
  if (wrapping === undefined) return { objects: [object], about: {} }
  const { object: wrapper } = await requirePermittedKey(context, wrapping, 'encrypt')
  return { objects: [object], about: { wrappedBy: getChainId(wrapper) } }
}
