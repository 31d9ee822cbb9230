import { failure } from '@warder/base'
import {
  getChainId,
  governor,
  grantsOn,
  hasAuditRight,
  hasCreateRight,
  keyRight,
  listObtainedObjects,
  listOwnedObjects,
  type ManagedObject,
  requirePrincipal,
  signedIn,
  stateAt,
  tagGrantsOn,
} from '@warder/keys'
import { auditOperations, healthDetailsOperation } from '@warder/runtime'
import { type Access, get, type Operation, pageReply } from '@warder/server'
import Type, { type Static } from 'typebox'
import { define, type RestServices } from './services.ts'

const maxListed = 1000

const Page = Type.Object({
  after: Type.Optional(Type.String({ maxLength: 4096, description: '`X-Next-After` of the previous page.' })),
  limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,4}$', description: '1 to 1000, default 1000.' })),
})

function readPage(query: Static<typeof Page>): { readonly after: string; readonly limit: number } {
  const limit = query.limit === undefined ? maxListed : Number(query.limit)
  if (limit < 1 || limit > maxListed) throw failure('bad_request', `limit must be 1 to ${maxListed}.`)
  const after = query.after ?? ''
  if (/\p{Cc}/u.test(after) || !after.isWellFormed()) throw failure('bad_request', 'after is not an id.')
  return { after, limit }
}

const Attributes = Type.Object({
  object_type: Type.String(),
  cryptographic_algorithm: Type.Union([Type.String(), Type.Null()]),
  cryptographic_length: Type.Union([Type.Integer(), Type.Null()]),
  cryptographic_usage_mask: Type.Integer(),
})

function formatAttributes(object: ManagedObject): Static<typeof Attributes> {
  return {
    object_type: object.type,
    cryptographic_algorithm: object.algorithm ?? null,
    cryptographic_length: object.bits ?? null,
    cryptographic_usage_mask: object.usageMask,
  }
}

const owned = define({
  name: 'access.owned',
  reach: ['reveal existence', 'reveal attributes'],
  route: get('/access/owned'),
  summary: 'Objects that the caller owns, in pages',
  tag: 'Access',
  access: signedIn,
  queryParameters: Page,
  paged: true,
  reply: Type.Array(Type.Object({ object_id: Type.String(), state: Type.String(), attributes: Attributes })),
  async act({ query }, context) {
    const { db, clock } = context.services
    const { after, limit } = readPage(query)
    const now = clock.now()
    const objects = await listOwnedObjects(db, requirePrincipal(context).name, after, limit)
    const json = objects.map((object) => ({
      object_id: object.id,
      state: stateAt(object, now),
      attributes: formatAttributes(object),
    }))
    return pageReply(json, objects.length < limit ? undefined : objects.at(-1)?.id)
  },
})

const obtained = define({
  name: 'access.obtained',
  reach: ['reveal existence', 'reveal attributes'],
  route: get('/access/obtained'),
  summary: 'Objects of others on which the caller has rights, in pages',
  tag: 'Access',
  access: signedIn,
  queryParameters: Page,
  paged: true,
  reply: Type.Array(
    Type.Object({
      object_id: Type.String(),
      owner_id: Type.String(),
      state: Type.String(),
      operations: Type.Array(Type.String()),
      via: Type.Optional(
        Type.Array(Type.String(), {
          description: 'Groups, roles and tags by which the rights come, if any.',
        }),
      ),
    }),
  ),
  async act({ query }, context) {
    const { db, clock } = context.services
    const principal = requirePrincipal(context)
    const { after, limit } = readPage(query)
    const now = clock.now()
    const { page, next } = await listObtainedObjects(db, principal, after, limit)
    const json = page.map(({ object, operations, via }) => ({
      object_id: object.id,
      owner_id: object.owner,
      state: stateAt(object, now),
      operations,
      ...(via.length > 0 && { via }),
    }))
    return pageReply(json, next)
  },
})

const listAccess = keyRight<RestServices, string>('authorize', {
  read: ({ path }) => path.object_id ?? '',
  kid: (kid) => kid,
})
const list = define({
  name: 'access.list',
  reach: ['reveal grants'],
  route: get('/access/list/{object_id}'),
  summary: 'Grants on an object',
  tag: 'Access',
  access: listAccess,
  pathParameters: Type.Object({ object_id: Type.String() }),
  reply: Type.Array(
    Type.Object({
      user_id: Type.String({ description: 'A user, `*`, `group:NAME`, or `role:SOURCE/NAME`.' }),
      operations: Type.Array(Type.String()),
      tag: Type.Optional(Type.String({ description: 'The tag by which it was granted.' })),
    }),
  ),
  errors: { 403: 'Only the owner, an officer, or a user with the right Authorize.', 404: 'No such object.' },
  async act(_input, context) {
    const { db } = context.services
    const { object } = listAccess.resolved(context).key
    const grants = (await grantsOn(db, getChainId(object))).map(({ user, operations }) => ({
      user_id: user,
      operations,
    }))
    const byTag = Map.groupBy(await tagGrantsOn(db, object), (way) => JSON.stringify([way.tag, way.user_id]))
    const tagged = [...byTag.values()].flatMap((ways) => {
      const [first] = ways
      if (first === undefined) return []
      const { user_id, tag } = first
      return [{ user_id, operations: ways.map(({ operation }) => operation), tag }]
    })
    return [...grants, ...tagged]
  },
})

const create = define({
  name: 'access.create',
  reach: ['reveal public'],
  route: get('/access/create'),
  summary: 'Whether the caller may create objects',
  tag: 'Access',
  access: signedIn,
  reply: Type.Object({ has_create_permission: Type.Boolean() }),
  act: async (_input, context) => {
    const { db, roles } = context.services
    return { has_create_permission: await hasCreateRight(db, roles, requirePrincipal(context).name) }
  },
})

const privileged = define({
  name: 'access.privileged',
  reach: ['reveal public'],
  route: get('/access/privileged'),
  summary: 'Whether the caller is a crypto officer',
  tag: 'Access',
  access: signedIn,
  reply: Type.Object({ has_privileged_access: Type.Boolean() }),
  act: async (_input, context) => {
    const { officers } = context.services.roles
    return { has_privileged_access: await officers.isActive(requirePrincipal(context).name) }
  },
})

/** Requires a caller who reads the audit log; see `hasAuditRight`. */
const auditAccess: Access<RestServices> = {
  name: 'audit',
  async check(_input, context) {
    const { db, roles, defaultUsername } = context.services
    if (!(await hasAuditRight(db, roles, defaultUsername, requirePrincipal(context))))
      throw failure('forbidden')
  },
}

export const healthDetails = healthDetailsOperation<RestServices>(governor)

export const auditReading = auditOperations<RestServices>(auditAccess, governor)

export const accessQueries: readonly Operation<RestServices>[] = [owned, obtained, list, create, privileged]
