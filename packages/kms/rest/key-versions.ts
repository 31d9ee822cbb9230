import { failure } from '@warder/base'
import {
  findKeyVersion,
  findObject,
  isLaterVersion,
  keyNotFound,
  keyRight,
  listKeyVersions,
  type ManagedObject,
  maxVersions,
  requireAllowed,
  requirePrincipal,
  stateAt,
  UnitOfWork,
  verdictOn,
  versionNumber,
} from '@warder/keys'
import {
  get,
  type Operation,
  type OperationContext,
  type OperationInput,
  pageReply,
  post,
} from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { formatDates, lifeMembers } from './life-shape.ts'
import { define, type RestServices } from './services.ts'
import {
  type EventRequest,
  requestSchema,
  type VersionEvent,
  type VersionVerb,
  versionEvents,
  versionVerbs,
} from './version-events.ts'

type Context = OperationContext<RestServices>

const attempts = 10
const maxListed = 1000

const Version = Type.Object({
  version: Type.Integer({ description: 'Counted from 1.' }),
  kid: Type.String({ description: 'Id of the version, used in headers of JWE and JWS.' }),
  linked_kid: Type.Optional(Type.String({ description: 'The other half of a pair.' })),
  state: Type.String(),
  newest: Type.Boolean({ description: 'Whether it is the version that protects.' }),
  created_at: Type.String({ description: 'RFC 3339, UTC.' }),
  superseded_at: Type.Optional(Type.String({ description: 'Time at which the next version replaced it.' })),
  disabled_at: lifeMembers.disabled_at,
  destruction_at: lifeMembers.destruction_at,
})

function formatVersion(object: ManagedObject, now: number): Static<typeof Version> {
  const { supersededAt, linkedId } = object
  const { disabled_at, destruction_at } = formatDates(object)
  return {
    version: versionNumber(object),
    kid: object.id,
    ...(linkedId !== undefined && { linked_kid: linkedId }),
    state: stateAt(object, now),
    newest: supersededAt === undefined,
    created_at: new Date(object.createdAt).toISOString(),
    ...(supersededAt !== undefined && { superseded_at: new Date(supersededAt).toISOString() }),
    ...(disabled_at !== undefined && { disabled_at }),
    ...(destruction_at !== undefined && { destruction_at }),
  }
}

const VersionsQuery = Type.Object({
  before: Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,5}$',
      description: 'Versions below this one: the last of the previous page.',
    }),
  ),
  limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,4}$', description: '1 to 1000, default 1000.' })),
})

function readRange({ before, limit }: Static<typeof VersionsQuery>) {
  const wanted = limit === undefined ? maxListed : Number(limit)
  if (wanted < 1 || wanted > maxListed) throw failure('bad_request', `limit must be 1 to ${maxListed}.`)
  return { before: before === undefined ? maxVersions : Number(before) - 1, limit: wanted }
}

const listAccess = keyRight<RestServices, string>('getattributes', {
  read: ({ path: { kid } }) => kid ?? '',
  kid: (kid) => kid,
})

/** `GET /v1/crypto/keys/{kid}/versions`: the newest first. Of a version that is named: itself. */
const listVersions = define({
  name: 'crypto.keys.versions',
  reach: ['reveal attributes', 'reveal public'],
  route: get('/v1/crypto/keys/{kid}/versions'),
  summary: 'Versions of a key, the newest first, in pages',
  tag: 'Keys',
  access: listAccess,
  pathParameters: Type.Object({ kid: Type.String() }),
  queryParameters: VersionsQuery,
  paged: true,
  reply: Type.Object({
    kid: Type.String(),
    min_decrypt_version: Type.Integer(),
    versions: Type.Array(Version),
  }),
  errors: { 403: 'The caller has no right to read attributes.', 404: 'No such key.' },
  async act({ query }, context) {
    const range = readRange(query)
    const { db, clock } = context.services
    const { object } = listAccess.resolved(context).key
    const versions = isLaterVersion(object) ? [object] : await listKeyVersions(db, object, range)
    const now = clock.now()
    const json = {
      kid: object.id,
      min_decrypt_version: object.minGeneration + 1,
      versions: versions.map((version) => formatVersion(version, now)),
    }
    const last = json.versions.at(-1)
    const isWhole = isLaterVersion(object) || versions.length < range.limit || last?.version === 1
    return pageReply(json, isWhole || last === undefined ? undefined : String(last.version))
  },
})

interface VersionRequest {
  readonly kid: string
  readonly generation: number
  readonly body: Static<typeof EventRequest>
}

function readVersionRequest({ path, body }: OperationInput): VersionRequest {
  const { kid = '', version = '' } = path
  if (!/^[1-9][0-9]{0,4}$/.test(version)) throw failure('bad_request', 'The number of the version, from 1.')
  return { kid, generation: Number(version) - 1, body: body as Static<typeof EventRequest> }
}

function versionOperation(name: VersionVerb): Operation<RestServices> {
  const event = versionEvents[name]
  const access = keyRight<RestServices, VersionRequest>(event.right, {
    read: readVersionRequest,
    kid: ({ kid }) => kid,
  })
  return define({
    name: `crypto.keys.versions.${name}`,
    route: post(`/v1/crypto/keys/{kid}/versions/{version}/${name}`),
    summary: event.summary,
    description: 'For a pair: both halves. The other versions of the key are unchanged.',
    tag: 'Keys',
    access,
    reach: event.reach,
    asks: event.more,
    pathParameters: Type.Object({ kid: Type.String(), version: Type.String() }),
    request: requestSchema(name),
    reply: Version,
    errors: {
      403: 'The caller has no right to do this with the key.',
      404: 'No such key, or no such version of it.',
      409: 'Changed concurrently by another request.',
      422: 'The state of the version does not allow it.',
    },
    act(_input, context) {
      const { key, request } = access.resolved(context)
      context.audit({ details: { version: request.generation + 1 } })
      return retryOnGuard(attempts, () => changeVersion(context, key.object, request, event))
    },
  })
}

async function changeVersion(
  context: Context,
  named: ManagedObject,
  request: VersionRequest,
  event: VersionEvent,
) {
  const { services } = context
  const { db, roles, clock } = services
  const now = clock.now()
  const key = await findObject(db, named.id)
  if (key === undefined || isLaterVersion(key)) throw keyNotFound()
  const caller = requirePrincipal(context)
  for (const right of [event.right, ...event.more])
    requireAllowed(await verdictOn(db, roles, key, caller, right))
  const version = await findKeyVersion(db, key, request.generation)
  if (version === undefined) throw failure('not_found', `The key has no version ${request.generation + 1}.`)
  const objects = new UnitOfWork(services, now)
  try {
    const about = { context, objects, key, now, body: request.body }
    for (const half of await findHalves(objects, version)) await event.stage(half, about)
    const after = (await objects.read(version.id)) ?? version
    const { state, destructionAt } = after
    const waits = destructionAt !== undefined && { destruction_at: new Date(destructionAt).toISOString() }
    context.audit({ details: { version_kid: version.id, state, ...waits } })
    await objects.commit(context.commit)
    return formatVersion(after, now)
  } finally {
    objects.clear()
  }
}

async function findHalves(objects: UnitOfWork, version: ManagedObject): Promise<readonly ManagedObject[]> {
  const other = version.linkedId === undefined ? undefined : await objects.read(version.linkedId)
  const isOther = other?.linkedId === version.id && other.owner === version.owner
  return isOther ? [version, other] : [version]
}

export const versionOperations: readonly Operation<RestServices>[] = [
  listVersions,
  ...versionVerbs.map(versionOperation),
]
