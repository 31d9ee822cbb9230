import { Failure, failure } from '@warder/base'
import {
  decideOn,
  endedPrefix,
  exportRights,
  findGroupPath,
  findGroupsOfName,
  formatWay,
  type GrantWay,
  getChainId,
  grantsOn,
  isGovernor,
  isGroupName,
  isGroupOrRoleName,
  isGroupOwner,
  isLaterVersion,
  type Key,
  keyNotFound,
  newestVersion,
  normalizeName,
  type ObjectId,
  officerAccess,
  parseRights,
  processingVersion,
  protectingVersion,
  type Right,
  requirePrincipal,
  resolveKid,
  rolePrefix,
  signedIn,
  storeOfName,
  tagGrantsOn,
  type Usage,
  verdictOn,
} from '@warder/keys'
import { type Caller, type Operation, type OperationContext, post } from '@warder/server'
import Type, { type Static } from 'typebox'
import { isGeneral } from './grants.ts'
import { define, type RestServices } from './services.ts'

const Reason = Type.Object({
  kind: Type.String({
    description:
      'owner, direct, wildcard, role, group, tag, officer, no_grant, role_unknown, reserved, block, state, or approval.',
  }),
  allows: Type.Boolean({ description: 'true: it grants the right; false: it forbids the use.' }),
  text: Type.String(),
  user_id: Type.Optional(Type.String({ description: 'The grantee of a grant.' })),
  tag: Type.Optional(Type.String()),
  path: Type.Optional(
    Type.Array(Type.String(), { description: 'From the group of the grant to the member.' }),
  ),
})
const ExplainReply = Type.Object({
  user_id: Type.String(),
  unique_identifier: Type.String(),
  operation: Type.String(),
  allowed: Type.Boolean(),
  reasons: Type.Array(Reason),
  step: Type.Optional(Type.String({ description: 'What would change the answer.' })),
})
type Reason = Static<typeof Reason>
type Context = OperationContext<RestServices>

/** The use of key material that a right permits; rights without one are not bound to the state of the key. */
const usageOfRight: Readonly<Partial<Record<Right, Usage>>> = {
  encrypt: 'encrypt',
  decrypt: 'decrypt',
  sign: 'sign',
  signatureverify: 'verify',
  mac: 'macGenerate',
  derivekey: 'deriveKey',
}
/** Operations that can require the approval of officers, by the right that they need. */
const approvalOfRight = { get: 'export', export: 'export', destroy: 'destroy' } as const

const unknownId = '00000000-0000-0000-0000-000000000000' as ObjectId

/** @throws failure('bad_request') */
function readUser(text: string): string {
  const user = normalizeName(text)
  const isUser =
    text.length <= 256 && text === text.trim() && text.isWellFormed() && !/[\p{Cc}\p{Cf}]/u.test(text)
  if (!isUser || user === '*' || isGroupOrRoleName(user) || storeOfName(user) !== undefined)
    throw failure('bad_request', 'user_id is not the name of a user or a machine of this service.')
  return user
}

/** @throws failure('bad_request') */
function readRight(name: string): Right {
  const [right, ...others] = parseRights(name)
  if (right === undefined || others.length > 0 || isGeneral(right))
    throw failure('bad_request', 'operation is not the name of one operation on keys.')
  return right
}

/**
 * The key, for its owner and crypto officers, and for users with rights on it about themselves. To others it does
 * not exist; the same statements run for an unknown key, so that both answers take the same time.
 * @throws failure('not_found')
 */
async function requireAskable(context: Context, kid: string, user: string, right: Right): Promise<Key> {
  const { services } = context
  const { db, roles, keys } = services
  const caller = requirePrincipal(context)
  const id = await resolveKid(services, caller.name, kid)
  const key = id === undefined ? undefined : await keys.get(id)
  const about = key?.object ?? { id: unknownId, owner: '' }
  const isOwner = about.owner === caller.name
  const own = await verdictOn(db, roles, about, caller, right)
  const isOwnRight = user === caller.name && own !== 'nothing'
  const mayAsk = isOwner || isOwnRight || (await isGovernor(services, caller))
  if (key === undefined || !mayAsk) throw keyNotFound()
  if (!isOwner && !isOwnRight) context.audit(officerAccess)
  return key
}

/** @param path from the group of the grant to the user */
function describeWay({ user_id: grantee, tag }: GrantWay, right: Right, path: readonly string[]): Reason {
  const by = tag === '' ? '' : ` by the tag ${tag} of the key`
  const who = grantee === '*' ? 'all users' : grantee
  const kind = isGroupName(grantee)
    ? 'group'
    : grantee.startsWith(rolePrefix)
      ? 'role'
      : grantee === '*'
        ? 'wildcard'
        : 'direct'
  return {
    kind: tag === '' ? kind : 'tag',
    allows: true,
    text: `${right} is granted to ${who}${by}${path.length > 0 ? ` (${path.join(' > ')})` : ''}.`,
    user_id: grantee,
    ...(tag !== '' && { tag }),
    ...(path.length > 0 && { path: [...path] }),
  }
}

/** A grant that does not name the user and was made before approvals were required. */
function describeUnapproved(reason: Reason): Reason {
  const text = `${reason.text} It does not count: on this key such grants require approval, and name a user.`
  return { ...reason, allows: false, text }
}

/** The way through a group; empty for other grantees, and for an owner of the key who may not read the group. */
async function findVisiblePath(
  context: Context,
  { owner }: Key['object'],
  grantee: string,
  user: string,
): Promise<readonly string[]> {
  const { db } = context.services
  const { name } = requirePrincipal(context)
  if (!isGroupName(grantee)) return []
  const maySee =
    user === name ||
    owner !== name ||
    (await isGroupOwner(db, grantee, name)) ||
    (await findGroupsOfName(db, name)).includes(grantee)
  return maySee ? findGroupPath(db, grantee, user) : []
}

/** Reasons for and against the right itself, by the decision function of every operation. */
async function explainRight(context: Context, key: Key, subject: Caller, right: Right): Promise<Reason[]> {
  const { db, roles } = context.services
  const { object } = key
  const { verdict, by, grants, unapproved = [] } = await decideOn(db, roles, object, subject, right)
  const reasons: Reason[] = []
  if (by === 'owner') reasons.push({ kind: 'owner', allows: true, text: 'The user owns the key.' })
  for (const way of grants.filter(({ operation }) => operation === right)) {
    const path = await findVisiblePath(context, object, way.user_id, subject.name)
    if (!unapproved.includes(way)) reasons.push(describeWay(way, right, path))
    else if (by === undefined) reasons.push(describeUnapproved(describeWay(way, right, path)))
  }
  if (by === 'officer')
    reasons.push({ kind: 'officer', allows: true, text: `Crypto officers have ${right} on keys of others.` })
  if (verdict === 'reserved')
    reasons.push({ kind: 'reserved', allows: false, text: 'This service signs its own tokens with the key.' })
  if (by !== undefined) return reasons
  reasons.push({ kind: 'no_grant', allows: false, text: `No grant of ${right} reaches the user.` })
  return [...reasons, ...(await hintRoles(context, key, subject, right))]
}

/** Roles arrive with a login, so those of another user are not known: names the grants that would allow it. */
async function hintRoles(
  context: Context,
  { object }: Key,
  subject: Caller,
  right: Right,
): Promise<Reason[]> {
  const { db, roles } = context.services
  if (subject.name === requirePrincipal(context).name) return []
  if (exportRights.has(right) && (await roles.approvals.covers('grant', object))) return []
  const direct = (await grantsOn(db, getChainId(object))).flatMap(({ user, operations }) =>
    operations.map((operation) => ({ operation, user_id: user, tag: '' })),
  )
  return [...direct, ...(await tagGrantsOn(db, object))]
    .filter((way) => way.operation === right && way.user_id.startsWith(rolePrefix))
    .map((way) => ({
      kind: 'role_unknown',
      allows: false,
      text: `Roles are known only at a login: ${formatWay(way)} would allow it.`,
      user_id: way.user_id,
      ...(way.tag !== '' && { tag: way.tag }),
    }))
}

/** Why the version of the key that the right would use may not be used now; undefined: it may. */
async function findStateObstacle({ clock, keys }: RestServices, key: Key, right: Right) {
  const { object } = key
  if ((right === 'get' || right === 'export') && !object.extractable) return 'The key is not extractable.'
  const use = usageOfRight[right]
  if (use === undefined) return undefined
  const isProtecting = use !== 'decrypt' && use !== 'verify'
  try {
    const select = isLaterVersion(object) ? processingVersion : newestVersion
    const version = await (isProtecting ? protectingVersion : select)(keys, key)
    const verdict = version.mayUse(use, clock.now())
    if (!verdict.allowed) return verdict.sentence
    const { usageLimits } = version.object
    return isProtecting && usageLimits !== undefined && usageLimits.left <= 0n
      ? 'The usage limits of the key are exhausted.'
      : undefined
  } catch (error) {
    if (error instanceof Failure && error.kind === 'crypto_failure') return error.message
    throw error
  }
}

/** Reasons against a use although the right is there. */
async function explainObstacles(
  { services }: Context,
  key: Key,
  user: string,
  right: Right,
): Promise<Reason[]> {
  const { blocks, roles } = services
  const against = (kind: string, text: string): Reason => ({ kind, allows: false, text })
  const reasons: Reason[] = []
  if (await blocks.isBlocked(user)) reasons.push(against('block', 'The user is blocked.'))
  const state = await findStateObstacle(services, key, right)
  if (state !== undefined) reasons.push(against('state', state))
  const operation = approvalOfRight[right as keyof typeof approvalOfRight]
  if (operation !== undefined && (await roles.approvals.covers(operation, key.object)))
    reasons.push(against('approval', `The operation ${operation} requires the approval of crypto officers.`))
  return reasons
}

/** The one step that would change the answer. */
function findStep(
  reasons: readonly Reason[],
  { owner }: Key['object'],
  user: string,
  right: Right,
): string | undefined {
  const against = new Set(reasons.filter(({ allows }) => !allows).map(({ kind }) => kind))
  if (against.has('block')) return `A crypto officer unblocks ${user} (DELETE /access/block).`
  if (against.has('reserved')) return 'Use another key.'
  if (against.has('no_grant') && owner.startsWith(endedPrefix))
    return 'The owner was deleted: a crypto officer transfers the key to another owner (POST /access/transfer).'
  if (against.has('no_grant'))
    return `The owner of the key (${owner}) grants ${right} to ${user}, or to a group or role of the user (POST /access/grant).`
  if (against.has('state'))
    return 'The owner changes the state, the dates or the uses of the key, or makes a new version.'
  if (against.has('approval')) return 'The user requests the approval (POST /access/approvals).'
  const [only, ...others] = reasons.filter(({ allows }) => allows)
  if (only === undefined || others.length > 0 || only.user_id === undefined) return undefined
  return only.kind === 'group'
    ? `An owner of ${only.user_id} removes the member, or ${right} is revoked from the group.`
    : `${right} is revoked from ${only.user_id === '*' ? 'all users' : only.user_id} (POST /access/revoke).`
}

const explain = define({
  name: 'access.explain',
  reach: ['reveal grants'],
  route: post('/access/explain'),
  summary: 'Why a user may or may not use a key for an operation',
  description:
    'For the owner of the key and crypto officers, about any user; for others only about themselves, on keys on which they have a right. The key is not used.',
  tag: 'Access',
  access: signedIn,
  request: Type.Object({
    user_id: Type.String({ minLength: 1, description: 'A user or machine, by the name at this service.' }),
    unique_identifier: Type.String({ minLength: 1, maxLength: 1024, description: 'The key, or an alias.' }),
    operation: Type.String({ maxLength: 64, description: 'One KMIP operation name: `encrypt`, `get` …' }),
  }),
  reply: ExplainReply,
  errors: { 404: 'No such key, or the caller may not ask about it.' },
  async act({ body }, context) {
    const principal = requirePrincipal(context)
    const user = readUser(body.user_id)
    const right = readRight(body.operation)
    context.audit({ object: body.unique_identifier, details: { user, operation: right } })
    const key = await requireAskable(context, body.unique_identifier, user, right)
    const isSelf = user === principal.name
    const subject = isSelf ? principal : { name: user }
    const reasons = [
      ...(await explainRight(context, key, subject, right)),
      ...(await explainObstacles(context, key, user, right)),
    ]
    const step = findStep(reasons, key.object, user, right)
    return {
      user_id: user,
      unique_identifier: key.object.id,
      operation: right,
      allowed: reasons.every(({ allows }) => allows),
      reasons,
      ...(step !== undefined && { step }),
    }
  },
})

export const explainOperations: readonly Operation<RestServices>[] = [explain]
