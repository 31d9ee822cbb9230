import { failure } from '@warder/base'
import { readStorePath } from '@warder/external-stores'
import {
  allUsers,
  anyObject,
  approvalNeeded,
  createRight,
  exportRights,
  findCeremony,
  findLinkTarget,
  findObject,
  type GeneralRight,
  generalRights,
  grantChanges,
  hasRoomForGrantee,
  isBoundToOwnRights,
  keyNotFound,
  type ManagedObject,
  materialRights,
  normalizeName,
  parseRights,
  type Right,
  readGroupOrRole,
  requireAllowed,
  requirePrincipal,
  requireVoteCredential,
  resolveKid,
  revokeChanges,
  signedIn,
  storeOfName,
  touchChanges,
  type Verdict,
  verdictOn,
} from '@warder/keys'
import { type AuditFields, type Caller, type Operation, type OperationContext, post } from '@warder/server'
import { type Change, retryOnGuard } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { xksPaths } from './aws-access-keys.ts'
import { isKnownName, requireGrantee, resolveGrantedName } from './grantee.ts'
import { changeByTag, requireGroup, requireNamedForApproval, requireNamedPrincipal } from './group-grants.ts'
import { define, type RestServices } from './services.ts'

const GrantRequest = Type.Object({
  unique_identifier: Type.Optional(
    Type.String({ description: 'The key. Optional if only `create`, `external` or `audit` is granted.' }),
  ),
  tag: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'In place of a key: all keys of the caller that have this tag, now or later.',
    }),
  ),
  user_id: Type.String({
    description:
      'A user, `*` for every authenticated user, `group:NAME`, `role:SOURCE/NAME`, or a principal of a cloud: `aws:arn:…`, `google:EMAIL`.',
  }),
  operation_types: Type.Array(Type.String({ maxLength: 64 }), {
    minItems: 1,
    maxItems: 64,
    description: 'KMIP operation names, or the groups Read, UseKey, Modify, Destroy, Authorize.',
  }),
  known: Type.Optional(
    Type.Boolean({
      description:
        'true: a grant to an unknown name is refused, and a machine may be named without `app:` if no user has the name.',
    }),
  ),
})
const GrantReply = Type.Object({
  success: Type.String(),
  user_id: Type.String({ description: 'The user whose rights were changed.' }),
  known: Type.Optional(
    Type.Boolean({
      description: 'For a grant: whether the name is known. Absent if that cannot be determined.',
    }),
  ),
})
const attempts = 10

/** Whether rights are granted or revoked, and the statements that do it. */
interface Direction {
  readonly gives: boolean
  readonly changes: (id: string, user: string, operations: readonly string[]) => Change[]
}
const giving: Direction = { gives: true, changes: grantChanges }
const takingBack: Direction = { gives: false, changes: revokeChanges }

export function isGeneral(name: Right | GeneralRight): name is GeneralRight {
  return generalRights.some((general) => general === name)
}

interface Wanted {
  /** In the form in which names are compared. */
  readonly user: string
  /** The name as it was written: grants made before names were normalized are revoked under it. */
  readonly written?: string
  /** Those on no object. */
  readonly general: readonly GeneralRight[]
  readonly rights: readonly Right[]
}

/** @throws failure('bad_request') */
export function readWanted(
  body: Pick<Static<typeof GrantRequest>, 'user_id' | 'operation_types'>,
  caller: string,
): Wanted {
  const written = body.user_id
  const isName =
    written.length > 0 &&
    written.length <= 256 &&
    written === written.trim() &&
    !/[\p{Cc}\p{Cf}]/u.test(written)
  if (!isName || !written.isWellFormed()) throw failure('bad_request', 'user_id is not the name of a user.')
  const user = readGroupOrRole(written) ?? normalizeName(written)
  if (user === caller) throw failure('bad_request', 'You cannot change your own rights.')
  const names = new Set(body.operation_types.flatMap(parseRights))
  const general = generalRights.filter((name) => names.has(name))
  const named = general.find((right) => right !== createRight)
  if (user === allUsers && named !== undefined)
    throw failure(
      'bad_request',
      `The right \`${named}\` can be granted only to named users, not to all users.`,
    )
  if (storeOfName(user) !== undefined && general.length > 0)
    throw failure(
      'bad_request',
      `${general.join(' and ')} can be granted only to users of this service, not to clouds.`,
    )
  requireNamedPrincipal(user, general)
  return { user, written, general, rights: [...names].filter((name) => !isGeneral(name)) }
}

/**
 * Changes rights once: authorizes the caller, plans the change and commits it; the object's new version notifies every
 * process.
 * @returns the user whose rights changed
 */
async function changeRights(
  context: OperationContext<RestServices>,
  body: Static<typeof GrantRequest>,
  direction: Direction,
): Promise<string> {
  const caller = requirePrincipal(context)
  const { unique_identifier: kid, tag } = body
  const named = readWanted(body, caller.name)
  if (tag !== undefined) {
    if (kid !== undefined) throw failure('bad_request', 'Name a key or a tag, not both.')
    return changeTagged(context, { ...named, tag, gives: direction.gives }, body.known === true)
  }
  const wanted = body.known === true ? await withKnownUser(context, named, kid, direction) : named
  context.audit({
    ...(kid !== undefined && { object: kid }),
    details: { user: wanted.user, operations: [...wanted.rights, ...wanted.general] },
  })
  const generalChanges =
    wanted.general.length === 0 ? [] : await planGeneralChanges(context, caller.name, wanted, direction)
  if (wanted.rights.length === 0) {
    if (generalChanges.length > 0) await context.commit(generalChanges)
    return wanted.user
  }
  if (kid === undefined) throw failure('bad_request', 'unique_identifier is missing.')
  await retryOnGuard(attempts, () => changeOnObject(context, kid, caller, wanted, direction, generalChanges))
  return wanted.user
}

/** Changes rights on the caller's keys with a tag. @returns the user whose rights changed */
async function changeTagged(
  context: OperationContext<RestServices>,
  named: Wanted & { readonly tag: string; readonly gives: boolean },
  known: boolean,
): Promise<string> {
  const user = known && named.gives ? await requireGrantee(context.services, named.user) : named.user
  context.audit({ details: { user, operations: [...named.rights, ...named.general] } })
  await changeByTag(context, { ...named, user })
  return user
}

/**
 * Resolves the user that the name refers to. A caller who may not grant on the key learns nothing about names.
 * @throws failure('bad_request') when no user or machine has the name
 */
async function withKnownUser(
  context: OperationContext<RestServices>,
  wanted: Wanted,
  kid: string | undefined,
  direction: Direction,
): Promise<Wanted> {
  const { services } = context
  const caller = requirePrincipal(context)
  const object = kid ?? anyObject
  context.audit({ object, details: { user: wanted.user } })
  if (wanted.general.length > 0) await planGeneralChanges(context, caller.name, wanted, direction)
  if (kid !== undefined && wanted.rights.length > 0)
    await rightsChange(services, kid, caller, wanted, direction)
  const user = direction.gives
    ? await requireGrantee(services, wanted.user)
    : await resolveGrantedName(services, object, wanted.user)
  return { ...wanted, user }
}

/**
 * Only officers decide who else may create keys, manage external key stores, and read the audit log; without officers
 * that is settled, and there is nothing to change.
 */
async function planGeneralChanges(
  { services }: OperationContext<RestServices>,
  caller: string,
  { user, general }: Wanted,
  { changes }: Direction,
): Promise<Change[]> {
  const { officers } = services.roles
  if (officers.listed.size === 0) return []
  if (!(await officers.isActive(caller))) throw failure('forbidden')
  if (officers.listed.has(user))
    throw failure('bad_request', 'A crypto officer has this right by configuration.')
  return changes(anyObject, user, general)
}

async function changeOnObject(
  context: OperationContext<RestServices>,
  kid: string,
  caller: Caller,
  wanted: Wanted,
  direction: Direction,
  more: readonly Change[],
): Promise<void> {
  const { services } = context
  const audit = (fields: AuditFields) => context.audit(fields)
  const { object, changes } = await rightsChange(services, kid, caller, wanted, direction, audit)
  if (object.id !== kid) context.audit({ object: object.id, details: { alias: kid } })
  const { approvals, officers } = services.roles
  if (direction.gives && (await isCeremonyShare(services, object)))
    await requireVoteCredential(services.db, approvals, requirePrincipal(context), services.clock.now())
  if (direction.gives && wanted.rights.some((right) => takesApproval(wanted.user, right)))
    if (await approvals.covers('grant', object)) {
      requireNamedForApproval(wanted.user)
      throw approvalNeeded('grant', officers)
    }
  await context.commit([...changes, ...more])
}

/** In a ceremony, each owner grants another officer the right to get the share. */
async function isCeremonyShare({ db, seal }: RestServices, object: ManagedObject): Promise<boolean> {
  const source = object.type === 'SplitKey' ? findLinkTarget(object, 'ParentLink') : undefined
  return source !== undefined && (await findCeremony(db, seal, source)) !== undefined
}

/**
 * Whether a grant requires approval: rights to export material, and grants to a cloud, whose use of the key is outside
 * this service.
 */
function takesApproval(user: string, right: Right): boolean {
  return exportRights.has(right) || (storeOfName(user) !== undefined && materialRights.has(right))
}

/**
 * Changes that grant rights on a key to a user, if the caller may grant them now.
 * @throws failure('not_found' | 'forbidden' | 'bad_request')
 */
export function toGrant(
  services: Pick<RestServices, 'db' | 'roles' | 'clock' | 'aliases' | 'external'>,
  kid: string,
  caller: Caller,
  wanted: Pick<Wanted, 'user' | 'rights'>,
) {
  return rightsChange(services, kid, caller, wanted, giving)
}

async function rightsChange(
  services: Pick<RestServices, 'db' | 'roles' | 'clock' | 'aliases' | 'external'>,
  kid: string,
  caller: Caller,
  { user, written, rights }: Pick<Wanted, 'user' | 'written' | 'rights'>,
  direction: Direction,
  audit?: (fields: AuditFields) => void,
): Promise<{ readonly object: ManagedObject; readonly changes: readonly Change[] }> {
  const { db, roles, clock, aliases } = services
  if (direction.gives) requireServedStore(services, user)
  const id = await resolveKid({ aliases }, caller.name, kid)
  const named = id === undefined ? undefined : await findObject(db, id)
  // Rights are on keys: who names a version means its key.
  const object = named?.chainId === undefined ? named : await findObject(db, named.chainId)
  if (object === undefined) throw keyNotFound()
  requireAllowed(await verdictOn(db, roles, object, caller, 'authorize', audit))
  if (user === object.owner) throw failure('bad_request', 'The owner has every right on the key.')
  if (
    object.owner !== caller.name &&
    (await isBoundToOwnRights(services, caller.name, user, direction.gives))
  ) {
    for (const right of rights)
      requirePassedOn(await verdictOn(db, roles, object, caller, right), user, right)
  }
  if (direction.gives && object.owner !== caller.name && !(await hasRoomForGrantee(db, object.id, user)))
    throw failure(
      'forbidden',
      'This key has the maximum number of grants on behalf of its owner: only the owner can grant more.',
    )
  const names = direction.gives || written === undefined ? [user] : new Set([user, written])
  const guards = direction.gives ? await requireGroup(services, user) : []
  const changes = [
    ...guards,
    ...touchChanges(db, object, clock.now()),
    ...[...names].flatMap((name) => direction.changes(object.id, name, rights)),
  ]
  return { object, changes }
}

/** @throws failure('forbidden') that names the right that the caller lacks */
function requirePassedOn(verdict: Verdict, user: string, right: Right): void {
  if (verdict === 'lacks_this_right' && storeOfName(user) !== undefined)
    throw failure(
      'forbidden',
      `A grant to a cloud is a use of the key: it requires the right ${right} on the key, also from officers. The owner of the key can grant it.`,
    )
  if (verdict !== 'reserved') requireAllowed(verdict)
}

/** A grant to a key store that is not served would have no effect. @throws failure('bad_request') */
function requireServedStore({ external }: Pick<RestServices, 'external'>, user: string): void {
  const path = readStorePath(user)
  const paths = xksPaths(external)
  if (path === undefined || paths === undefined || paths.includes(path)) return
  throw failure('bad_request', `user_id: this server has the key stores ${paths.join(', ')} for AWS.`)
}

const errors = {
  403: 'The caller may not grant or revoke this.',
  404: 'No such key, or the caller has no right on it.',
  409: 'Changed concurrently by another request.',
}

const grant = define({
  name: 'access.grant',
  reach: ['change grants'],
  asks: ['authorize'],
  route: post('/access/grant'),
  summary: 'Grant rights on a key',
  tag: 'Access',
  access: signedIn,
  request: GrantRequest,
  reply: GrantReply,
  errors: { ...errors, 503: 'With `known`: it cannot be determined at present whether the name is known.' },
  async act({ body }, context) {
    const user = await changeRights(context, body, giving)
    const known = await isKnownName(context.services, user)
    return {
      success: `Access for ${formatUser(user)} successfully added`,
      user_id: user,
      ...(known !== undefined && { known }),
    }
  },
})

const revoke = define({
  name: 'access.revoke',
  reach: ['change grants'],
  asks: ['authorize'],
  route: post('/access/revoke'),
  summary: 'Revoke rights on a key',
  tag: 'Access',
  access: signedIn,
  request: GrantRequest,
  reply: GrantReply,
  errors,
  async act({ body }, context) {
    const user = await changeRights(context, body, takingBack)
    return { success: `Access for ${formatUser(user)} successfully deleted`, user_id: user }
  },
})

function formatUser(user: string): string {
  return user === allUsers ? 'all users' : user
}

export const grantOperations: readonly Operation<RestServices>[] = [grant, revoke]
