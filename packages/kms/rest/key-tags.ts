import { failure } from '@warder/base'
import {
  addTagChanges,
  findObject,
  findTags,
  getChainId,
  keyNotFound,
  keyRight,
  type ManagedObject,
  markForWrapping,
  maxTags,
  type Right,
  removeTagChanges,
  requireAllowed,
  requireKeptTags,
  requirePrincipal,
  requireTagChange,
  touchChanges,
  verdictOn,
} from '@warder/keys'
import { del, get, type Operation, type OperationContext, post } from '@warder/server'
import { type Change, retryOnGuard } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { define, type RestServices } from './services.ts'

export const Tags = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: maxTags })
const TagsRequest = Type.Object({ tags: Tags })
const TagsReply = Type.Object({ kid: Type.String(), tags: Type.Array(Type.String()) })
const path = '/v1/crypto/keys/{kid}/tags'
const KidPath = Type.Object({ kid: Type.String() })
const attempts = 10

/** Tags that begin with `_` are the system's. @throws failure('bad_request') */
export function userTags(tags: readonly string[]): readonly string[] {
  for (const tag of tags) {
    if (tag.startsWith('_') || /\p{Cc}/u.test(tag) || !tag.isWellFormed()) {
      throw failure('bad_request', 'A tag must not begin with `_` or contain control characters.')
    }
  }
  return [...new Set(tags)]
}

function keyInPath(right: Right) {
  return keyRight<RestServices, string>(right, {
    read: ({ path: { kid } }) => kid ?? '',
    kid: (kid) => kid,
  })
}

/**
 * Changes tags together with the object's version, so that a deleted key has no tags and all nodes see the change. Each
 * attempt checks the right again: it may have been revoked, or the id may now belong to a key of another user.
 * @param named tags that the caller knows already: others are returned only to callers who may read them
 */
async function changeTags(
  context: OperationContext<RestServices>,
  object: ManagedObject,
  right: Right,
  named: readonly string[],
  plan: (before: readonly string[]) => { readonly changes: Change[]; readonly after: readonly string[] },
): Promise<Static<typeof TagsReply>> {
  const { db, clock, roles } = context.services
  const caller = requirePrincipal(context)
  const id = getChainId(object)
  const key = await retryOnGuard(attempts, async () => {
    const now = await findObject(db, id)
    if (now === undefined) throw keyNotFound()
    requireAllowed(await verdictOn(db, roles, now, caller, right))
    const before = await findTags(db, id)
    const { changes: wanted, after } = plan(before)
    await requireTagChange(context.services, now, caller, before, after)
    if (wanted.length > 0)
      await context.commit([...touchChanges(db, now, clock.now()), ...wanted, markForWrapping(id)])
    return now
  })
  const tags = await formatTags(context.services, id)
  const mayRead = (await verdictOn(db, roles, key, caller, 'getattributes')) === 'allowed'
  return { kid: id, tags: mayRead ? [...tags] : tags.filter((tag) => named.includes(tag)) }
}

/** The user's tags of an object, sorted. */
export async function formatTags(services: RestServices, id: string): Promise<readonly string[]> {
  return (await findTags(services.db, id)).filter((tag) => !tag.startsWith('_'))
}

const readAccess = keyInPath('getattributes')
const listTags = define({
  name: 'key.tags.list',
  reach: ['reveal attributes', 'reveal public'],
  route: get(path),
  summary: 'Tags of a key',
  tag: 'Keys',
  access: readAccess,
  pathParameters: KidPath,
  reply: TagsReply,
  errors: { 403: 'The caller has no right to read attributes.', 404: 'No such key.' },
  async act(_input, context) {
    const id = getChainId(readAccess.resolved(context).key.object)
    return { kid: id, tags: await formatTags(context.services, id) }
  },
})

const addAccess = keyInPath('addattribute')
const addTags = define({
  name: 'key.tags.add',
  reach: ['change tags'],
  route: post(path),
  summary: 'Add tags to a key',
  tag: 'Keys',
  access: addAccess,
  pathParameters: KidPath,
  request: TagsRequest,
  reply: TagsReply,
  errors: {
    403: 'The caller has no right to add attributes.',
    404: 'No such key.',
    409: 'Changed concurrently by another request.',
  },
  act({ body }, context) {
    const tags = userTags(body.tags)
    context.audit({ details: { tags } })
    const { object } = addAccess.resolved(context).key
    return changeTags(context, object, 'addattribute', tags, (before) => {
      const after = [...new Set([...before, ...tags])]
      if (after.length > maxTags) throw failure('bad_request', `A key can have at most ${maxTags} tags.`)
      return { changes: addTagChanges(getChainId(object), tags), after }
    })
  },
})

const removeAccess = keyInPath('deleteattribute')
const removeTags = define({
  name: 'key.tags.remove',
  reach: ['change tags'],
  route: del(path),
  summary: 'Remove tags from a key',
  tag: 'Keys',
  access: removeAccess,
  pathParameters: KidPath,
  request: TagsRequest,
  reply: TagsReply,
  errors: {
    403: 'The caller has no right to delete attributes.',
    404: 'No such key.',
    409: 'Changed concurrently by another request.',
  },
  act({ body }, context) {
    const tags = userTags(body.tags)
    context.audit({ details: { tags } })
    const { object } = removeAccess.resolved(context).key
    return changeTags(context, object, 'deleteattribute', tags, (before) => {
      const after = before.filter((tag) => !tags.includes(tag))
      requireKeptTags(context.services.roles, before, after)
      return { changes: removeTagChanges(getChainId(object), tags), after }
    })
  },
})

export const tagOperations: readonly Operation<RestServices>[] = [listTags, addTags, removeTags]
