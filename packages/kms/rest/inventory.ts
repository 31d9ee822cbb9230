import { createHash } from 'node:crypto'
import { failure } from '@warder/base'
import {
  asObjectId,
  type InventoryCursor,
  type InventoryFilter,
  inventoryPage,
  isWalk,
  type Listed,
  objectTypes,
  officerAccess,
  ownAliasesOfMany,
  type Range,
  requirePrincipal,
  signedIn,
  stateAt,
  states,
  tagsOfMany,
  toDay,
  versionNumber,
} from '@warder/keys'
import { get, pageReply } from '@warder/server'
import Type, { type Static } from 'typebox'
import { toCrv, toKty } from './key-shape.ts'
import { formatDates, formatDay, lifeMembers, readMoment } from './life-shape.ts'
import { define } from './services.ts'

const maxListed = 1000
const defaultLimit = 100

const Moment = (description: string) =>
  Type.Optional(
    Type.String({ maxLength: 40, description: `${description} RFC 3339, or a date (its start in UTC).` }),
  )
const Flag = (description: string) => Type.Optional(Type.Enum(['true', 'false'], { description }))

const Filter = Type.Object({
  owner: Type.Optional(
    Type.String({
      maxLength: 256,
      description: 'Default: the caller. Only crypto officers may use another user, or `*` for all.',
    }),
  ),
  tag: Type.Optional(Type.String({ maxLength: 256 })),
  algorithm: Type.Optional(Type.String({ maxLength: 64, description: 'AES, HMAC, RSA, EC, Ed25519 …' })),
  alg: Type.Optional(
    Type.String({ maxLength: 64, description: 'Algorithm that it is bound to: A256GCM, ES256 …' }),
  ),
  type: Type.Optional(Type.Enum([...objectTypes], { description: 'Type of the object.' })),
  excluded_type: Type.Optional(
    Type.Enum([...objectTypes], { description: 'Excludes objects of this type.' }),
  ),
  state: Type.Optional(Type.Enum([...states])),
  disabled: Flag('Whether it is disabled.'),
  awaits_destruction: Flag('Whether its destruction is pending.'),
  created_after: Moment('Created then or later.'),
  created_before: Moment('Made earlier.'),
  rotated_after: Moment('Its newest version was created then or later.'),
  rotated_before: Moment('Its newest version was created earlier, or it is older and was never rotated.'),
  expires_after: Moment('Its deactivation_at is then or later.'),
  expires_before: Moment('Its deactivation_at is earlier.'),
  used_since: Moment('Used on that day or later, or created then and not used.'),
  unused_since: Moment('Not used on that day or later, and created earlier.'),
  after: Type.Optional(
    Type.String({ maxLength: 1024, description: '`next` of the previous page, with the same filter.' }),
  ),
  limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,4}$', description: '1 to 1000, default 100.' })),
})

const ListedKey = Type.Object({
  kid: Type.String(),
  object_type: Type.String(),
  name: Type.Optional(Type.String({ description: 'The first name that KMIP clients assigned to it.' })),
  kty: Type.String(),
  algorithm: Type.Optional(Type.String()),
  alg: Type.Optional(Type.String()),
  crv: Type.Optional(Type.String()),
  bits: Type.Optional(Type.Integer()),
  state: Type.String(),
  owner: Type.String(),
  linked_kid: Type.Optional(Type.String({ description: 'The other half of a pair.' })),
  tags: Type.Array(Type.String()),
  aliases: Type.Array(Type.String(), { description: 'Aliases of its owner.' }),
  version: Type.Integer({ description: 'The current version; 1 = never rotated.' }),
  created_at: Type.String({ description: 'RFC 3339, UTC.' }),
  rotated_at: Type.Optional(Type.String({ description: 'Creation time of that version; RFC 3339, UTC.' })),
  ...lifeMembers,
  last_used: Type.Optional(Type.String({ description: 'Day of its last use, UTC; absent: never used.' })),
})

/** `GET /v1/crypto/keys`: lists keys, filtered by type, age and last use. */
export const listKeys = define({
  name: 'crypto.keys.list',
  reach: ['reveal existence', 'reveal attributes'],
  route: get('/v1/crypto/keys'),
  summary: 'Keys of the caller, or for crypto officers of other users, by filters and in pages',
  description:
    'A page scans a bounded number of keys: it may contain fewer than `limit`, or none, and still have a `next`.',
  tag: 'Keys',
  access: signedIn,
  queryParameters: Filter,
  paged: true,
  reply: Type.Object({
    keys: Type.Array(ListedKey),
    next: Type.Union([Type.String(), Type.Null()], { description: '`after` of the next page.' }),
  }),
  errors: { 403: 'Only crypto officers can list keys of other users.' },
  async act({ query }, context) {
    const { db, clock, roles } = context.services
    const { name } = requirePrincipal(context)
    const { owner = name } = query
    const filter = readFilter(query, owner)
    const limit = query.limit === undefined ? defaultLimit : Number(query.limit)
    if (limit < 1 || limit > maxListed) throw failure('bad_request', `limit must be 1 to ${maxListed}.`)
    const place = query.after === undefined ? undefined : readCursor(query.after, filter)
    if (owner !== name) {
      if (!(await roles.officers.isActive(name)))
        throw failure('forbidden', 'Only crypto officers can list keys of other users.')
      context.audit(officerAccess)
    }
    const now = clock.now()
    const { keys, next } = await inventoryPage(db, filter, place, limit, now)
    const found = keys.map(({ key }) => key)
    const tags = await tagsOfMany(
      db,
      found.map(({ id }) => id),
    )
    const aliases = await ownAliasesOfMany(db, found)
    const following = next === undefined ? null : writeCursor(next, filter)
    const json = {
      keys: keys.map((listed) => ({
        ...formatListed(listed, now),
        tags: tags.get(listed.key.id) ?? [],
        aliases: aliases.get(listed.key.id) ?? [],
      })),
      next: following,
    }
    return pageReply(json, following ?? undefined)
  },
})

/** @throws failure('bad_request') */
function readFilter(query: Static<typeof Filter>, owner: string): InventoryFilter {
  for (const text of [owner, query.tag, query.algorithm, query.alg])
    if (text !== undefined && (/\p{Cc}/u.test(text) || !text.isWellFormed()))
      throw failure('bad_request', 'A filter must not contain control characters.')
  const flag = (value: string | undefined): boolean | undefined =>
    value === undefined ? undefined : value === 'true'
  return {
    owner: owner === '*' ? undefined : owner,
    tag: query.tag,
    algorithm: query.algorithm,
    boundAlg: query.alg,
    type: query.type,
    excludedType: query.excluded_type,
    state: query.state,
    disabled: flag(query.disabled),
    awaitsDestruction: flag(query.awaits_destruction),
    created: range('created', query.created_after, query.created_before),
    rotated: range('rotated', query.rotated_after, query.rotated_before),
    ends: range('expires', query.expires_after, query.expires_before),
    usedDay: range('use', query.used_since, query.unused_since, toDay),
  }
}

function range(
  name: string,
  from: string | undefined,
  before: string | undefined,
  unit = (at: number): number => at,
): Range | undefined {
  if (from === undefined && before === undefined) return undefined
  return {
    from: from === undefined ? Number.MIN_SAFE_INTEGER : unit(readMoment(from, `${name}: from`)),
    before: before === undefined ? Number.MAX_SAFE_INTEGER : unit(readMoment(before, `${name}: before`)),
  }
}

/** State and dates are those of the version that protects, as `GET` of the key shows them. */
function formatListed({ key, newest, lastUsedDay }: Listed, now: number) {
  const crv = toCrv(newest)
  const [name] = newest.names
  return {
    kid: key.id,
    object_type: key.type,
    ...(name !== undefined && { name: name.name }),
    kty: toKty(newest.algorithm),
    ...(newest.algorithm !== undefined && { algorithm: newest.algorithm }),
    ...(newest.boundAlg !== undefined && { alg: newest.boundAlg }),
    ...(crv !== undefined && { crv }),
    ...(newest.bits !== undefined && { bits: newest.bits }),
    state: stateAt(newest, now),
    owner: key.owner,
    ...(key.linkedId !== undefined && { linked_kid: key.linkedId }),
    version: versionNumber(newest),
    created_at: new Date(key.createdAt).toISOString(),
    ...(newest.generation > 0 && { rotated_at: new Date(newest.createdAt).toISOString() }),
    ...formatDates(newest),
    ...(lastUsedDay !== undefined && { last_used: formatDay(lastUsedDay) }),
  }
}

/** Of which filter a cursor is: with another one it would lead elsewhere. */
function filterMark(filter: InventoryFilter): string {
  const members = Object.entries(filter).filter(([, value]) => value !== undefined)
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url').slice(0, 12)
}

/** A cursor for callers: the end of the page, and its filter. It is no secret and proves nothing. */
function writeCursor({ walk, value, id }: InventoryCursor, filter: InventoryFilter): string {
  return Buffer.from(JSON.stringify([filterMark(filter), walk, value, id])).toString('base64url')
}

/** @throws failure('bad_request') unless it is a cursor of a list with this filter */
function readCursor(text: string, filter: InventoryFilter): InventoryCursor {
  const place = parseCursor(text)
  if (place === undefined) throw failure('bad_request', 'after is not the `next` of a page.')
  if (place.mark !== filterMark(filter))
    throw failure('bad_request', 'after belongs to a list with another filter: start again without after.')
  return place
}

function parseCursor(text: string): (InventoryCursor & { readonly mark: unknown }) | undefined {
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    return undefined
  }
  if (!Array.isArray(parts) || parts.length !== 4) return undefined
  const [mark, walk, value, id] = parts as readonly unknown[]
  if (!isWalk(walk) || !Number.isSafeInteger(value)) return undefined
  if (typeof id !== 'string' || asObjectId(id) === undefined) return undefined
  return { mark, walk, value: Number(value), id }
}
