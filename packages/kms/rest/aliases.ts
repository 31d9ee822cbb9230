import { failure } from '@warder/base'
import {
  type Alias,
  type AliasName,
  aliasCreation,
  aliasesOfKey,
  aliasId,
  aliasMove,
  aliasPrefix,
  aliasRemoval,
  asObjectId,
  countAliases,
  findAlias,
  findObject,
  fullForm,
  keyNotFound,
  listAliases,
  type ManagedObject,
  maxAliases,
  ownForm,
  parseAlias,
  readOwnAlias,
  requirePresent,
  requirePrincipal,
  resolveKid,
  signedIn,
  verdictOn,
} from '@warder/keys'
import { del, get, type Operation, type OperationContext, pageReply, post, put } from '@warder/server'
import { retryOnGuard, UniqueViolation } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { define, type RestServices } from './services.ts'

type Context = OperationContext<RestServices>

const path = '/v1/crypto/aliases'
const tag = 'Keys'
const attempts = 10
const maxTextLength = 1024

const AliasReply = Type.Object({
  alias: Type.String({ description: 'Form for its owner.' }),
  full_alias: Type.String({ description: 'Form for other users.' }),
  kid: Type.String({ description: 'The key of the alias.' }),
  created_at: Type.String({ description: 'RFC 3339, UTC.' }),
  changed_at: Type.String(),
})
const Named = Type.String({ maxLength: maxTextLength, description: '`alias/invoices`, or `invoices`.' })
const AliasPath = Type.Object({ alias: Named })
const Kid = Type.String({ description: 'The key, by its id or another alias.' })

function formatAlias(alias: Alias): Static<typeof AliasReply> {
  return {
    alias: ownForm(alias),
    full_alias: fullForm(alias),
    kid: alias.keyId,
    created_at: new Date(alias.createdAt).toISOString(),
    changed_at: new Date(alias.changedAt).toISOString(),
  }
}

/** The target key of an alias: any key on which the caller has a right. @throws failure('not_found') */
async function findTarget(context: Context, kid: string): Promise<ManagedObject> {
  const { services } = context
  const caller = requirePrincipal(context)
  const id = await resolveKid(services, caller.name, kid)
  const object = id === undefined ? undefined : await findObject(services.db, id)
  if (object === undefined) throw keyNotFound()
  if ((await verdictOn(services.db, services.roles, object, caller, 'getattributes')) === 'nothing')
    throw keyNotFound()
  return object
}

/** @throws failure('not_found') */
async function ownAlias({ services }: Context, wanted: AliasName): Promise<Alias> {
  const alias = await findAlias(services.db, aliasId(wanted))
  if (alias === undefined) throw failure('not_found', `You have no alias \`${ownForm(wanted)}\`.`)
  return alias
}

export const createAlias = define({
  name: 'crypto.aliases.create',
  reach: ['change names'],
  route: post(path),
  summary: 'Create an alias for a key',
  description:
    'An alias belongs to its owner: `alias/invoices` means the alias of the caller, `alias/invoices@alice` the alias of alice. It grants no right.',
  tag,
  access: signedIn,
  request: Type.Object({ alias: Named, kid: Kid }),
  reply: AliasReply,
  errors: {
    404: 'No such key, or the caller has no right on it.',
    409: 'The caller already has an alias of this name, or the maximum number of aliases.',
  },
  async act({ body }, context) {
    const { db, clock } = context.services
    const { name: caller } = requirePrincipal(context)
    const wanted = readOwnAlias(body.alias, caller)
    const alias = ownForm(wanted)
    if ((await countAliases(db, caller)) >= maxAliases)
      throw failure('conflict', `You have the maximum number of aliases (${maxAliases}).`)
    // Objects of clients of KMIP could be called so before there were aliases: one text never means both.
    for (const text of [alias, fullForm(wanted)]) {
      const id = asObjectId(text)
      if (id !== undefined && (await findObject(db, id)) !== undefined)
        throw failure('conflict', `There is an object whose identifier is \`${text}\`.`)
    }
    return await retryOnGuard(attempts, async () => {
      const object = await findTarget(context, body.kid)
      context.audit({ object: object.id, details: { alias } })
      const now = clock.now()
      try {
        await context.commit([requirePresent(object.id), ...aliasCreation(db, wanted, object.id, now)])
      } catch (error) {
        if (!(error instanceof UniqueViolation)) throw error
        throw failure('conflict', `You already have an alias \`${alias}\`: move it, or delete it first.`)
      }
      return formatAlias({ ...wanted, keyId: object.id, createdAt: now, changedAt: now, version: 0 })
    })
  },
})

const list = define({
  name: 'crypto.aliases.list',
  reach: ['reveal existence'],
  route: get(path),
  summary: 'The aliases of the caller, by name, in pages',
  tag,
  access: signedIn,
  queryParameters: Type.Object({
    kid: Type.Optional(Type.String({ description: 'Only aliases of this key.' })),
    after: Type.Optional(
      Type.String({ maxLength: maxTextLength, description: 'Last alias of the previous page.' }),
    ),
  }),
  paged: true,
  reply: Type.Array(AliasReply),
  async act({ query }, context) {
    const { db } = context.services
    const { name: caller } = requirePrincipal(context)
    if (query.kid !== undefined) {
      const id = await resolveKid(context.services, caller, query.kid)
      return id === undefined ? [] : (await aliasesOfKey(db, caller, id, maxAliases)).map(formatAlias)
    }
    const after = query.after === undefined ? '' : readOwnAlias(query.after, caller).name
    const page = (await listAliases(db, caller, after, maxAliases)).map(formatAlias)
    return pageReply(page, page.length < maxAliases ? undefined : page.at(-1)?.alias)
  },
})

const read = define({
  name: 'crypto.aliases.get',
  reach: ['reveal existence'],
  route: get(`${path}/{alias}`),
  summary: 'Get an alias of the caller, or of a key on which the caller has a right',
  tag,
  access: signedIn,
  pathParameters: AliasPath,
  reply: AliasReply,
  errors: { 404: 'No such alias.' },
  async act(input, context) {
    const { db, roles } = context.services
    const { name: caller } = requirePrincipal(context)
    const text = input.path.alias
    const full = text.startsWith(aliasPrefix) ? text : `${aliasPrefix}${text}`
    const wanted = full.includes('@') ? parseAlias(full, caller) : readOwnAlias(text, caller)
    if (wanted === undefined || wanted.owner === caller)
      return formatAlias(await ownAlias(context, wanted ?? readOwnAlias(text, caller)))
    const alias = await findAlias(db, aliasId(wanted))
    const object = alias === undefined ? undefined : await findObject(db, alias.keyId)
    if (alias === undefined || object === undefined) throw keyNotFound()
    if ((await verdictOn(db, roles, object, requirePrincipal(context), 'getattributes')) === 'nothing')
      throw keyNotFound()
    context.audit({ object: object.id })
    return formatAlias(alias)
  },
})

const move = define({
  name: 'crypto.aliases.move',
  reach: ['change names'],
  route: put(`${path}/{alias}`),
  summary: 'Move an alias to another key, atomically',
  tag,
  access: signedIn,
  pathParameters: AliasPath,
  request: Type.Object({
    kid: Kid,
    from: Type.Optional(Type.String({ description: 'The expected current key; another one is 409.' })),
  }),
  reply: AliasReply,
  errors: {
    404: 'No such alias, or no such key.',
    409: 'Its current key is not `from`, or it was changed concurrently.',
  },
  async act({ body, path: { alias } }, context) {
    const { db, clock } = context.services
    const wanted = readOwnAlias(alias, requirePrincipal(context).name)
    context.audit({ details: { alias: ownForm(wanted) } })
    return await retryOnGuard(attempts, async () => {
      const before = await ownAlias(context, wanted)
      const object = await findTarget(context, body.kid)
      context.audit({ object: object.id, details: { from: before.keyId } })
      if (body.from !== undefined && body.from !== before.keyId)
        throw failure('conflict', `The current key of \`${ownForm(wanted)}\` is ${before.keyId}.`)
      const now = clock.now()
      await context.commit([requirePresent(object.id), ...aliasMove(db, before, object.id, now)])
      return formatAlias({ ...before, keyId: object.id, changedAt: now })
    })
  },
})

const remove = define({
  name: 'crypto.aliases.delete',
  reach: ['change names'],
  route: del(`${path}/{alias}`),
  summary: 'Delete an alias; the key stays',
  tag,
  access: signedIn,
  pathParameters: AliasPath,
  status: 204,
  errors: { 404: 'No such alias.', 409: 'Changed concurrently by another request.' },
  async act({ path: { alias } }, context) {
    const { db } = context.services
    const wanted = readOwnAlias(alias, requirePrincipal(context).name)
    context.audit({ details: { alias: ownForm(wanted) } })
    await retryOnGuard(attempts, async () => {
      const before = await ownAlias(context, wanted)
      context.audit({ object: before.keyId })
      await context.commit(aliasRemoval(db, before))
    })
  },
})

/** Aliases of keys (docs/adr/identifiers-and-aliases.md). */
export const aliasOperations: readonly Operation<RestServices>[] = [createAlias, list, read, move, remove]
