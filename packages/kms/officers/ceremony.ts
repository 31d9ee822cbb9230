import { failure } from '@warder/base'
import {
  activateByShares,
  asObjectId,
  type CeremonyServices,
  endActivationsChange,
  findLinkTarget,
  latestCeremony,
  type ManagedObject,
  requireCredentialWaited,
  requirePrincipal,
  revokeChanges,
  runningActivation,
  type Share,
  signedIn,
  touchChanges,
  UnitOfWork,
  verdictOn,
} from '@warder/keys'
import { get, type OperationContext, post } from '@warder/server'
import { UniqueViolation } from '@warder/storage'
import Type from 'typebox'
import { define, type OfficerServices } from './services.ts'

type Context = OperationContext<OfficerServices>
const tag = 'Crypto officers'

function ceremonyServices({ services: { db, seal, roles } }: Context): CeremonyServices {
  return { db, seal, ...roles }
}

/** @throws failure('forbidden'), with the same message for all users who are not listed */
function requireListed(context: Context): string {
  const { name } = requirePrincipal(context)
  const { officers } = context.services.roles
  if (!officers.listed.has(name)) throw failure('forbidden')
  if (!officers.requireCeremony)
    throw failure('crypto_failure', 'The settings alone name the officers: ceremonies are not used.')
  return name
}

/** `GET /access/crypto_officer/status`: who is an officer. A user who is not listed learns nothing about the others. */
export const status = define({
  name: 'access.officers.status',
  reach: ['reveal attributes'],
  route: get('/access/crypto_officer/status'),
  summary: 'List the crypto officers',
  tag,
  access: signedIn,
  reply: Type.Object({
    enabled: Type.Boolean(),
    users: Type.Array(Type.String()),
    active_co_users: Type.Array(Type.String()),
    custodians_count: Type.Integer(),
    require_ceremony: Type.Boolean(),
    ceremony_activated: Type.Boolean(),
    is_crypto_officer: Type.Boolean(),
  }),
  async act(_input, context) {
    const { officers } = context.services.roles
    const { name } = requirePrincipal(context)
    const listed = officers.listed.has(name)
    const active: string[] = []
    if (listed) for (const user of officers.listed) if (await officers.isActive(user)) active.push(user)
    return {
      enabled: listed,
      users: listed ? [...officers.listed] : [],
      active_co_users: active,
      custodians_count: listed && officers.requireCeremony ? officers.listed.size : 0,
      require_ceremony: listed && officers.requireCeremony,
      ceremony_activated: listed && officers.requireCeremony && active.length > 0,
      is_crypto_officer: active.includes(name),
    }
  },
})

/**
 * `GET /access/crypto_officer/ceremony`: the latest ceremony, for officers: the officers whose shares it needs, and the
 * caller's own share.
 */
export const latest = define({
  name: 'access.officers.ceremony',
  reach: ['reveal attributes'],
  route: get('/access/crypto_officer/ceremony'),
  summary: 'The latest ceremony of the crypto officers',
  tag,
  access: signedIn,
  reply: Type.Object({
    id: Type.String(),
    threshold: Type.Integer({ description: 'Number of officers whose shares are required.' }),
    officers: Type.Array(Type.Object({ user: Type.String(), share_id: Type.String() })),
    created_by: Type.String(),
    active_until: Type.Union([Type.String(), Type.Null()], {
      description: 'Time at which the activation of the caller ends.',
    }),
  }),
  errors: {
    403: 'Not a crypto officer.',
    404: 'There has been no ceremony.',
    422: 'Ceremonies are not used.',
  },
  async act(_input, context) {
    const caller = requireListed(context)
    const { db, seal, officers } = ceremonyServices(context)
    const ceremony = await latestCeremony(db, seal)
    if (ceremony === undefined) throw failure('not_found', 'There has been no ceremony yet.')
    const activation = await runningActivation(db, seal, caller, context.services.clock.now())
    return {
      id: ceremony.id,
      threshold: Math.max(ceremony.threshold, officers.quorum),
      officers: ceremony.officers.map((user, index) => ({ user, share_id: `${ceremony.id}#${index + 1}` })),
      created_by: ceremony.createdBy,
      active_until: activation === undefined ? null : new Date(activation.until).toISOString(),
    }
  },
})

/** `POST /access/crypto_officer/ceremony`: creates a key and splits it among the officers who are listed now. */
export const begin = define({
  name: 'access.officers.begin',
  reach: ['make object'],
  route: post('/access/crypto_officer/ceremony'),
  summary: 'Begin a ceremony: a new key, split among the crypto officers',
  tag,
  access: signedIn,
  request: Type.Object({
    everybody: Type.Optional(
      Type.Boolean({ description: 'true: requires the shares of all officers. Default: of a quorum.' }),
    ),
  }),
  bodyOptional: true,
  reply: Type.Object({
    id: Type.String(),
    share_id: Type.String({ description: "The caller's own share." }),
  }),
  errors: { 403: 'Not a crypto officer.', 422: 'Ceremonies are not used.' },
  async act({ body }, context) {
    const caller = requireListed(context)
    const { services } = context
    const { listed } = services.roles.officers
    const now = services.clock.now()
    const objects = new UnitOfWork(services, now)
    const principal = requirePrincipal(context)
    try {
      const id = await services.ceremonyShares.stageFresh(
        { services, principal, objects, now },
        body?.everybody === true,
      )
      context.audit({ object: id, details: { officers: [...listed] } })
      await objects.commit(context.commit)
      return { id, share_id: `${id}#${[...listed].indexOf(caller) + 1}` }
    } finally {
      objects.clear()
    }
  },
})

/** `POST /access/crypto_officer/ceremony/activate`: activates the caller by the shares that others granted. */
export const activate = define({
  name: 'access.officers.activate',
  reach: ['change grants'],
  asks: ['get'],
  route: post('/access/crypto_officer/ceremony/activate'),
  summary: 'Become an active crypto officer with the shares of other officers',
  tag,
  access: signedIn,
  request: Type.Object({
    share_ids: Type.Array(Type.String({ maxLength: 256 }), { minItems: 1, maxItems: 255 }),
  }),
  bodyLimit: 64 * 1024,
  reply: Type.Object({ success: Type.String() }),
  errors: {
    403: 'The caller is not a crypto officer, or the shares are not from a ceremony.',
    409: 'This ceremony already activated the caller.',
    422: 'Ceremonies are not used.',
  },
  async act({ body }, context) {
    const caller = requireListed(context)
    const now = context.services.clock.now()
    if (new Set(body.share_ids).size !== body.share_ids.length)
      throw failure('bad_request', 'share_ids has the same share twice.')
    const objects = new UnitOfWork(context.services, now)
    const shares: Share[] = []
    try {
      for (const id of body.share_ids) shares.push(await requirePermittedShare(context, caller, id, objects))
      const { activation, changes } = await activateByShares(
        ceremonyServices(context),
        requirePrincipal(context),
        shares,
        now,
      )
      const { ceremony, participants, until } = activation
      context.audit({
        object: ceremony,
        details: { activated: caller, participants, until: new Date(until).toISOString() },
      })
      await context.commit(changes).catch((error: unknown) => {
        if (error instanceof UniqueViolation)
          throw failure('conflict', 'This ceremony already activated you: begin a new one.')
        throw error
      })
    } finally {
      for (const { part } of shares) part.bytes.fill(0)
      objects.clear()
    }
    return { success: `${caller} is an active crypto officer` }
  },
})

/** @throws failure('forbidden'), in one sentence whether there is such a share or not */
async function requirePermittedShare(
  context: Context,
  caller: string,
  id: string,
  objects: UnitOfWork,
): Promise<Share> {
  const { db, roles, clock, ceremonyShares } = context.services
  const object = await objects.read(id)
  const verdict =
    object === undefined ? 'nothing' : await verdictOn(db, roles, object, { name: caller }, 'get')
  if (object !== undefined && verdict === 'allowed' && object.type === 'SplitKey') {
    try {
      return await ceremonyShares.read(object, objects, clock.now())
    } catch (cause) {
      throw failure('forbidden', `${id} is not a usable share.`, { cause })
    }
  }
  throw failure('forbidden', `You have no right get on the share ${id}: its officer must grant it.`)
}

/** `POST /access/crypto_officer/disable`: an officer steps down, or an officer ends the activation of another. */
export const disable = define({
  name: 'access.officers.disable',
  reach: ['change grants'],
  asks: ['get'],
  route: post('/access/crypto_officer/disable'),
  summary: 'End the activation of a crypto officer',
  tag,
  access: signedIn,
  request: Type.Object({
    target_user: Type.Optional(Type.String({ maxLength: 256, description: 'Absent: the caller.' })),
  }),
  bodyOptional: true,
  reply: Type.Object({ success: Type.String() }),
  errors: {
    403: 'Not a crypto officer.',
    404: 'The officer is not active.',
    422: 'Ceremonies are not used.',
  },
  async act({ body }, context) {
    const caller = requireListed(context)
    const { db, roles } = context.services
    const { officers, approvals } = roles
    const target = body?.target_user ?? caller
    const now = context.services.clock.now()
    context.audit({ details: { ended: target } })
    if (target !== caller) await requireCredentialWaited(db, approvals, requirePrincipal(context), now)
    if (!(await officers.isActive(target)))
      throw failure('not_found', target === caller ? 'You are not active.' : `${target} is not active.`)
    const taken = target === caller ? [] : await sharesTakenBack(context, caller, target, now)
    await context.commit([endActivationsChange(target, caller, now), ...taken])
    return { success: `${target} is no longer an active crypto officer` }
  },
})

/** An officer who ends the activation of another officer also revokes the grants on the own shares. */
async function sharesTakenBack(context: Context, caller: string, target: string, now: number) {
  const { db, seal } = context.services
  const activation = await runningActivation(db, seal, target, now)
  if (activation === undefined) return []
  const objects = new UnitOfWork(context.services, now)
  const own: ManagedObject[] = []
  for (let part = 1; part <= context.services.roles.officers.listed.size; part++) {
    const id = asObjectId(`${activation.ceremony}#${part}`)
    const share = id === undefined ? undefined : await objects.read(id)
    if (share?.owner === caller && findLinkTarget(share, 'ParentLink') === activation.ceremony)
      own.push(share)
  }
  return own.flatMap((share) => [
    ...touchChanges(db, share, now),
    ...revokeChanges(share.id, target, ['get']),
  ])
}
