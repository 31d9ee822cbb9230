import {
  allUsers,
  findGroupsOfName,
  getChainId,
  granteesPart,
  granteeTagsPart,
  grantsPart,
  isGroupOrRoleName,
  type ObjectId,
  ownersPart,
  type ReportPart,
  type ReportRow,
  type ReportScope,
  type ReportSubject,
  type RightsReader,
  requirePrincipal,
  resolveKid,
  verdictOn,
} from '@warder/keys'
import type { OperationContext } from '@warder/server'
import type { RestServices } from './services.ts'

type Context = OperationContext<RestServices>

/** The requested rows, of those that the caller may see. */
export interface ReportPlan {
  readonly parts: readonly ReportPart[]
  readonly keeps: (row: ReportRow) => boolean
}

/** The rights that are reported: the present ones, or those of a time in the past. */
export interface ReportedRights {
  readonly context: Context
  readonly rights: RightsReader
  /** Unix milliseconds; undefined: now. */
  readonly asOf: number | undefined
}

/** Filters of the report, and whether the caller sees all keys. */
export interface ReportQuestion {
  readonly governs: boolean
  readonly user: string | undefined
  readonly kid: string | undefined
  readonly right: string | undefined
  readonly way: ReportRow['way'] | undefined
}

/** Names under which a principal is a grantee. Roles of other callers, and former ones, are not known. */
async function listNames(
  { context, rights, asOf }: ReportedRights,
  user: string,
): Promise<readonly string[]> {
  if (user === allUsers || isGroupOrRoleName(user)) return [user]
  const principal = requirePrincipal(context)
  const roles = user === principal.name && asOf === undefined ? (principal.roles ?? []) : []
  return [user, allUsers, ...roles, ...(await findGroupsOfName(rights, user))]
}

/**
 * The object that the filter names, for callers who may know of it: all others learn no more than of an unknown one.
 * The same statements run for both.
 */
async function findNamedObject(context: Context, kid: string, governs: boolean) {
  const { services } = context
  const { db, roles, keys } = services
  const principal = requirePrincipal(context)
  const id = await resolveKid(services, principal.name, kid)
  const object = id === undefined ? undefined : (await keys.get(id))?.object
  const about = object ?? { id: '' as ObjectId, owner: '' }
  const verdict = await verdictOn(db, roles, about, principal, 'getattributes')
  return object !== undefined && (governs || verdict !== 'nothing') ? object : undefined
}

/** Parts with the kinds of ways that they contain. */
type Parts = readonly (readonly [kind: 'owner' | 'grant' | 'tag', part: ReportPart])[]

/** The parts of the report on one object. */
async function planObject(
  read: ReportedRights,
  kid: string,
  user: string | undefined,
  governs: boolean,
): Promise<Parts> {
  const { context, asOf } = read
  const { name } = requirePrincipal(context)
  if (asOf !== undefined) return planFormerObject(read, kid, user)
  const object = await findNamedObject(context, kid, governs)
  if (object === undefined) return []
  const ownsIt = object.owner === name
  const subject = governs || ownsIt ? user : name
  if (subject !== user && user !== undefined) return []
  const scope = { object: getChainId(object) }
  const only = subject === undefined ? {} : { only: await toSubject(read, subject) }
  const owners: Parts =
    subject === undefined || subject === object.owner ? [['owner', ownersPart(scope)]] : []
  return [...owners, ...planGrants(scope, { ...only, ...(!governs && { reader: name }) })]
}

/** The object may have another owner now; a removed object is identified by its id. */
async function planFormerObject(read: ReportedRights, kid: string, user: string | undefined): Promise<Parts> {
  const { services } = read.context
  const id = (await resolveKid(services, requirePrincipal(read.context).name, kid)) ?? kid
  const object = (await services.keys.get(id as ObjectId))?.object
  const scope = { object: object === undefined ? id : getChainId(object) }
  if (user === undefined) return [['owner', ownersPart(scope)], ...planGrants(scope, {})]
  return [
    ['owner', ownersPart({ ...scope, owner: user })],
    ...planGrants(scope, { only: await toSubject(read, user) }),
  ]
}

function planGrants(scope: ReportScope, subject: ReportSubject): Parts {
  return [
    ['grant', grantsPart('grants', scope, subject)],
    ['tag', grantsPart('tags', scope, subject)],
  ]
}

/** Parts with the rights of one principal on all objects whose owner `isListed`. */
async function planPrincipal(
  read: ReportedRights,
  principal: string,
  isListed: (owner: string | null) => boolean,
): Promise<Parts> {
  const names = await listNames(read, principal)
  return [
    ['grant', granteesPart(principal, names, isListed)],
    ['tag', granteeTagsPart(principal, names, isListed)],
  ]
}

async function toSubject(read: ReportedRights, principal: string) {
  return { principal, grantees: new Set(await listNames(read, principal)) }
}

/** The parts of the report on all objects that the caller may see. */
async function planAll(read: ReportedRights, user: string | undefined, governs: boolean): Promise<Parts> {
  const { name } = requirePrincipal(read.context)
  if (user !== undefined && (governs || user === name))
    return [['owner', ownersPart({ owner: user })], ...(await planPrincipal(read, user, () => true))]
  if (governs)
    return [['owner', ownersPart({})], ['grant', grantsPart('general', {}, {})], ...planGrants({}, {})]
  const scope = { owner: name }
  if (user !== undefined) return planGrants(scope, { only: await toSubject(read, user) })
  return [
    ['owner', ownersPart(scope)],
    ...planGrants(scope, { reader: name }),
    ...(await planPrincipal(read, name, (owner) => owner !== name)),
  ]
}

/** Plans which rows are read. Callers see all keys if they govern, else their own keys and their own rights. */
export async function planReport(
  read: ReportedRights,
  { governs, user, kid, right, way }: ReportQuestion,
): Promise<ReportPlan> {
  const parts =
    kid === undefined ? await planAll(read, user, governs) : await planObject(read, kid, user, governs)
  const wanted = way === undefined || way === 'owner' || way === 'tag' ? way : 'grant'
  return {
    parts: parts.filter(([kind]) => wanted === undefined || kind === wanted).map(([, part]) => part),
    keeps: (row) =>
      (right === undefined || row.right === right || row.right === '*') &&
      (way === undefined || row.way === way),
  }
}
