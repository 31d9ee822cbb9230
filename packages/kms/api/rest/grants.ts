import { failure } from '@warder/foundation/errors'
import { type Operation, type OperationContext, post } from '@warder/foundation/operations'
import { type Change, retryOnGuard } from '@warder/foundation/sql'
import Type, { type Static } from 'typebox'
import {
  anyObject,
  approvalNeeded,
  createRight,
  everybody,
  externalRight,
  type GeneralRight,
  grantChanges,
  keyNotFound,
  officerAccess,
  parseRights,
  principalOf,
  type Right,
  type Roles,
  requireAllowed,
  resolveKid,
  revokeChanges,
  verdictOn,
} from '../../access/index.ts'
import { findObject, type ManagedObject, touchChanges } from '../../keys/index.ts'
import { define, type KmsServices, signedIn } from '../../services.ts'
import { grantedName, isKnownName, knownGrantee } from './grantee.ts'

const GrantRequest = Type.Object({
  unique_identifier: Type.Optional(
    Type.String({ description: 'The key. May be left out when only `create` or `external` is named.' }),
  ),
  user_id: Type.String({ description: 'A user, or `*` for everybody who is authenticated.' }),
  operation_types: Type.Array(Type.String({ maxLength: 64 }), {
    minItems: 1,
    maxItems: 64,
    description: 'KMIP operation names, or the groups Read, UseKey, Modify, Destroy, Authorize.',
  }),
  known: Type.Optional(
    Type.Boolean({
      description:
        'true: nothing is granted to a name that nobody has, and a machine may be named without `app:` where no user has the name.',
    }),
  ),
})
const GrantReply = Type.Object({
  success: Type.String(),
  user_id: Type.String({ description: 'Whose rights were changed.' }),
  known: Type.Optional(
    Type.Boolean({ description: 'Of a grant: whether anybody has this name. Absent where nobody can tell.' }),
  ),
})
const attempts = 10

/** Whether rights are given or taken back, and the statements that do it. */
interface Direction {
  readonly gives: boolean
  readonly changes: (id: string, user: string, operations: readonly string[]) => Change[]
}
const giving: Direction = { gives: true, changes: grantChanges }
const takingBack: Direction = { gives: false, changes: revokeChanges }

const generalRights: readonly GeneralRight[] = [createRight, externalRight]

function isGeneral(name: Right | GeneralRight): name is GeneralRight {
  return name === createRight || name === externalRight
}

interface Wanted {
  readonly user: string
  /** Those on no object. */
  readonly general: readonly GeneralRight[]
  readonly rights: readonly Right[]
}

/** @throws failure('bad_request') */
export function readWanted(
  body: Pick<Static<typeof GrantRequest>, 'user_id' | 'operation_types'>,
  caller: string,
): Wanted {
  const user = body.user_id
  const isName =
    user.length > 0 && user.length <= 256 && user === user.trim() && !/[\p{Cc}\p{Cf}]/u.test(user)
  if (!isName || !user.isWellFormed()) throw failure('bad_request', 'user_id is not the name of a user.')
  if (user === caller) throw failure('bad_request', 'Rights of oneself cannot be changed.')
  const names = new Set(body.operation_types.flatMap(parseRights))
  const general = generalRights.filter((name) => names.has(name))
  if (user === everybody && general.includes(externalRight))
    throw failure('bad_request', 'The right `external` is granted to users by their names, not to everybody.')
  return { user, general, rights: [...names].filter((name) => !isGeneral(name)) }
}

/**
 * One change of rights: who may, what exactly, and its commit; the object's version tells every process.
 * @returns whose rights
 */
async function changeRights(
  context: OperationContext<KmsServices>,
  body: Static<typeof GrantRequest>,
  direction: Direction,
): Promise<string> {
  const caller = principalOf(context).name
  const { unique_identifier: kid } = body
  const named = readWanted(body, caller)
  const wanted = body.known === true ? await withKnownUser(context, named, kid, direction) : named
  context.audit({
    ...(kid !== undefined && { object: kid }),
    details: { user: wanted.user, operations: [...wanted.rights, ...wanted.general] },
  })
  const generalChanges =
    wanted.general.length === 0 ? [] : await changesOfGeneral(context, caller, wanted, direction)
  if (wanted.rights.length === 0) {
    if (generalChanges.length > 0) await context.commit(generalChanges)
    return wanted.user
  }
  if (kid === undefined) throw failure('bad_request', 'unique_identifier is missing.')
  await retryOnGuard(attempts, () => changeOnObject(context, kid, caller, wanted, direction, generalChanges))
  return wanted.user
}

/**
 * The same for the user who is meant by the name. Who may not grant on the key learns nothing about names.
 * @throws failure('bad_request') when nobody has the name
 */
async function withKnownUser(
  context: OperationContext<KmsServices>,
  wanted: Wanted,
  kid: string | undefined,
  direction: Direction,
): Promise<Wanted> {
  const { services } = context
  const caller = principalOf(context).name
  const object = kid ?? anyObject
  context.audit({ object, details: { user: wanted.user } })
  if (wanted.general.length > 0) await changesOfGeneral(context, caller, wanted, direction)
  if (kid !== undefined && wanted.rights.length > 0)
    await rightsChange(services, kid, caller, wanted, direction)
  const user = direction.gives
    ? await knownGrantee(services, wanted.user)
    : await grantedName(services, object, wanted.user)
  return { ...wanted, user }
}

/**
 * Only officers decide who else may create and look after external key stores; without officers that is settled, and
 * there is nothing to change.
 */
async function changesOfGeneral(
  { services }: OperationContext<KmsServices>,
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
  context: OperationContext<KmsServices>,
  kid: string,
  caller: string,
  wanted: Wanted,
  direction: Direction,
  more: readonly Change[],
): Promise<void> {
  const { services } = context
  const asOfficer = () => context.audit(officerAccess)
  const { object, changes } = await rightsChange(services, kid, caller, wanted, direction, asOfficer)
  if (object.id !== kid) context.audit({ object: object.id, details: { alias: kid } })
  const { approvals, officers } = services.roles
  if (direction.gives && wanted.rights.some((right) => givesMaterial.has(right)))
    if (await approvals.covers('grant', object)) throw approvalNeeded('grant', officers)
  await context.commit([...changes, ...more])
}

/** Rights with which material leaves the service. */
const givesMaterial: ReadonlySet<Right> = new Set<Right>(['get', 'export'])

/**
 * Changes that grant rights on a key to a user, for a caller who may decide that now.
 * @throws failure('not_found' | 'forbidden' | 'bad_request')
 */
export function grantOf(
  services: Pick<KmsServices, 'db' | 'roles' | 'clock' | 'aliases'>,
  kid: string,
  caller: string,
  wanted: Pick<Wanted, 'user' | 'rights'>,
) {
  return rightsChange(services, kid, caller, wanted, giving)
}

async function rightsChange(
  { db, roles, clock, aliases }: Pick<KmsServices, 'db' | 'roles' | 'clock' | 'aliases'>,
  kid: string,
  caller: string,
  { user, rights }: Pick<Wanted, 'user' | 'rights'>,
  direction: Direction,
  asOfficer?: () => void,
): Promise<{ readonly object: ManagedObject; readonly changes: readonly Change[] }> {
  const id = await resolveKid({ aliases }, caller, kid)
  const named = id === undefined ? undefined : await findObject(db, id)
  // Rights are on keys: who names a version means its key.
  const object = named?.chainId === undefined ? named : await findObject(db, named.chainId)
  if (object === undefined) throw keyNotFound()
  requireAllowed(await verdictOn(db, roles, object, caller, 'authorize', asOfficer))
  if (user === object.owner) throw failure('bad_request', 'The owner has every right on the key.')
  if (object.owner !== caller && (await isBoundToOwnRights(roles, caller, user, direction))) {
    for (const right of rights) requireAllowed(await verdictOn(db, roles, object, caller, right))
  }
  const changes = [...touchChanges(db, object, clock.now()), ...direction.changes(object.id, user, rights)]
  return { object, changes }
}

/**
 * Who acts on the owner's behalf passes on, or takes back, what they have themselves, and no more. Officers decide who
 * else uses a key, but give no use of it to themselves: not through everybody, and not to one another.
 */
async function isBoundToOwnRights(
  { officers }: Roles,
  caller: string,
  user: string,
  { gives }: Direction,
): Promise<boolean> {
  if (!(await officers.isActive(caller))) return true
  return gives && (user === everybody || officers.listed.has(user))
}

const errors = {
  403: 'The caller may not grant or revoke this.',
  404: 'No such key, or the caller has no right on it.',
  409: 'Changed by others at the same time.',
}

const grant = define({
  name: 'access.grant',
  route: post('/access/grant'),
  summary: 'Grant rights on a key',
  tag: 'Access',
  access: signedIn,
  request: GrantRequest,
  reply: GrantReply,
  errors: { ...errors, 503: 'With `known`: it cannot be found out now whether anybody has the name.' },
  async act({ body }, context) {
    const user = await changeRights(context, body, giving)
    const known = await isKnownName(context.services, user)
    return {
      success: `Access for ${nameOf(user)} successfully added`,
      user_id: user,
      ...(known !== undefined && { known }),
    }
  },
})

const revoke = define({
  name: 'access.revoke',
  route: post('/access/revoke'),
  summary: 'Take rights on a key back',
  tag: 'Access',
  access: signedIn,
  request: GrantRequest,
  reply: GrantReply,
  errors,
  async act({ body }, context) {
    const user = await changeRights(context, body, takingBack)
    return { success: `Access for ${nameOf(user)} successfully deleted`, user_id: user }
  },
})

function nameOf(user: string): string {
  return user === everybody ? 'everybody' : user
}

export const grantOperations: readonly Operation<KmsServices>[] = [grant, revoke]
