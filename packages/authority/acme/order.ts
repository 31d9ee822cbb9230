import { randomBytes } from 'node:crypto'
import { asObjectId, findObject, hasCreateRight, mayCreate, newObjectId, verdictOn } from '@warder/keys'
import { type Operation, post } from '@warder/server'
import Type from 'typebox'
import { findAuthority } from '../authority.ts'
import {
  accountCaller,
  byAccount,
  commitOrConflict,
  payloadObject,
  requirePostAsGet,
  resourceErrors,
  resourceReply,
  resourceRow,
  signedByAcme,
} from './caller.ts'
import { findByRegister, registerEntryNamed } from './certificate-store.ts'
import type { DirectorySettings } from './directory-store.ts'
import { type AcmeEnvironment, type AcmeServices, type AcmeUrls, define } from './environment.ts'
import { type ChallengeType, type Identifier, identifierText, readIdentifiers } from './identifiers.ts'
import {
  type Authorization,
  countOrders,
  findAuthorization,
  findOrder,
  insertOrder,
  isReplaced,
  listAuthorizations,
  type Order,
  updateAuthorization,
  updateOrder,
} from './order-store.ts'
import { acmeProblem, createProblem } from './problem.ts'

/**
 * Requires that the user of an account may still use the authority. Withdrawn rights take effect for accounts at once.
 * @param now true: a certificate is issued now, so the user must also have room for a new object
 * @throws unauthorized
 */
export async function requireCertify(
  { db, roles }: AcmeServices,
  authorityId: string,
  owner: string,
  { now }: { readonly now: boolean } = { now: false },
): Promise<void> {
  const id = asObjectId(authorityId)
  const object = id === undefined ? undefined : await findObject(db, id)
  const isAllowed =
    object !== undefined &&
    (await verdictOn(db, roles, object, { name: owner }, 'certify')) === 'allowed' &&
    (await (now ? mayCreate : hasCreateRight)(db, roles, owner))
  if (!isAllowed)
    throw acmeProblem(
      'unauthorized',
      'The user of this account no longer has the right certify on the authority.',
    )
}

const time = (ms: number): string => new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z')

/** RFC 8555 §7.1.3 */
export function orderObject(order: Order, parts: readonly Authorization[], urls: AcmeUrls): unknown {
  const { id, status, expiresAt, identifiers, notBefore, notAfter, error, certificate } = order
  return {
    status,
    expires: time(expiresAt),
    identifiers,
    ...(notBefore !== undefined && { notBefore: time(notBefore) }),
    ...(notAfter !== undefined && { notAfter: time(notAfter) }),
    ...(error !== undefined && { error }),
    authorizations: parts.map((part) => urls.authorization(part.id)),
    finalize: `${urls.order(id)}/finalize`,
    ...(certificate !== undefined && { certificate: urls.certificate(certificate) }),
  }
}

/** RFC 8555 §7.1.4 */
function authorizationObject(authorization: Authorization, urls: AcmeUrls): unknown {
  const { id, identifier, status, expiresAt, wildcard, challenges } = authorization
  // RFC 8555 §7.1.4: a valid authorization lists the validated challenge, an invalid one the failed challenge.
  const shown = status === 'pending' ? challenges : challenges.filter((each) => each.status !== 'pending')
  return {
    identifier,
    status,
    expires: time(expiresAt),
    challenges: shown.map((each) => challengeObject(id, each, urls)),
    ...(wildcard && { wildcard }),
  }
}

/** RFC 8555 §8 */
export function challengeObject(
  authorizationId: string,
  { type, token, status, validatedAt, error }: Authorization['challenges'][number],
  urls: AcmeUrls,
): unknown {
  return {
    type,
    url: urls.challenge(authorizationId, type),
    status,
    token,
    ...(validatedAt !== undefined && { validated: time(validatedAt) }),
    ...(error !== undefined && { error }),
  }
}

const hour = 3_600_000
/** Lifetime of an order that is not finalized, and of its authorizations. */
const orderLifetimeMs = 7 * 24 * hour
/** 128 bits at least (RFC 8555 §8.1). */
const tokenBytes = 32

/** `POST …/new-order` (RFC 8555 §7.4, RFC 9773 §5). */
export function newOrderOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...resourceRow(environment),
    name: 'acme.new_order',
    reach: [],
    route: post('/acme/{authority}/new-order'),
    summary: 'Order a certificate',
    access: signedByAcme,
    pathParameters: Type.Object({ authority: Type.String() }),
    status: 201,
    errors: { ...resourceErrors, 409: "The certificate in 'replaces' was already replaced." },
    authenticate: byAccount(environment),
    async act(_input, context) {
      const { services } = context
      const { db, clock } = services
      const caller = accountCaller(context)
      const { account, directory, urls } = caller
      const now = clock.now()
      const payload = payloadObject(caller)
      const identifiers = readIdentifiers(payload.identifiers)
      context.audit({ details: { identifiers: identifiers.map(identifierText) } })
      await requireCertify(services, directory.authorityId, account.owner)
      if ((await countOrders(db, account.id, now - hour)) >= directory.settings.ordersPerHour)
        throw acmeProblem('rateLimited', 'The account has ordered too many certificates in this hour.', {
          retryAfterSeconds: 600,
        })
      const order: Order = {
        id: newObjectId(now),
        accountId: account.id,
        status: 'pending',
        identifiers,
        notBefore: dateIn(payload, 'notBefore'),
        notAfter: dateIn(payload, 'notAfter'),
        replaces: await findReplaced(services, caller, payload.replaces),
        certificate: undefined,
        error: undefined,
        createdAt: now,
        expiresAt: now + orderLifetimeMs,
        version: 1,
      }
      const parts = identifiers.map((each) => newAuthorization(order, each, directory.settings, now))
      await context.commit(insertOrder(order, parts))
      context.audit({ details: { order: order.id } })
      return resourceReply(environment, urls, {
        status: 201,
        location: urls.order(order.id),
        json: orderObject(order, parts, urls),
      })
    },
  })
}

function newAuthorization(
  order: Order,
  asked: Identifier,
  settings: DirectorySettings,
  now: number,
): Authorization {
  const wildcard = asked.type === 'dns' && asked.value.startsWith('*.')
  const identifier = wildcard ? { ...asked, value: asked.value.slice(2) } : asked
  const types = settings.challenges.filter((type) => isPossible(type, identifier, wildcard))
  if (types.length === 0)
    throw acmeProblem('rejectedIdentifier', `No enabled challenge type can validate ${asked.value}.`)
  return {
    id: newObjectId(now),
    orderId: order.id,
    accountId: order.accountId,
    identifier,
    wildcard,
    status: 'pending',
    challenges: types.map((type) => ({
      type,
      token: randomBytes(tokenBytes).toString('base64url'),
      status: 'pending',
    })),
    expiresAt: order.expiresAt,
    version: 1,
  }
}

/** Wildcards are validated only with dns-01 (RFC 8555 §7.1.3), addresses never with it (RFC 8738 §7). */
function isPossible(type: ChallengeType, { type: kind }: Identifier, wildcard: boolean): boolean {
  return type === 'dns-01' ? kind === 'dns' : !wildcard
}

function dateIn(payload: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const value = payload[name]
  if (value === undefined) return undefined
  const time = typeof value === 'string' && rfc3339.test(value) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(time))
    throw acmeProblem('malformed', `'${name}' must be a time in the format of RFC 3339.`)
  return time
}

const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

/** The account's certificate that the order replaces. @throws malformed, unauthorized, alreadyReplaced */
async function findReplaced(
  { db }: AcmeServices,
  { account, directory }: ReturnType<typeof accountCaller>,
  value: unknown,
): Promise<string | undefined> {
  if (value === undefined) return undefined
  if (typeof value !== 'string')
    throw acmeProblem('malformed', "'replaces' must be the identifier of a certificate.")
  const authority = await findAuthority(db, directory.authorityId)
  const entry = authority && registerEntryNamed(authority, value)
  const known = entry === undefined ? undefined : await findByRegister(db, entry)
  if (known === undefined || known.accountId !== account.id)
    throw acmeProblem('malformed', "'replaces' must be a certificate of this account.")
  if (await isReplaced(db, known.registerId))
    throw acmeProblem('alreadyReplaced', 'Another order already replaces the certificate.')
  return known.registerId
}

/** `POST …/order/{order}` (RFC 8555 §7.4). */
export function orderOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...resourceRow(environment),
    name: 'acme.order',
    reach: [],
    route: post('/acme/{authority}/order/{order}'),
    summary: 'Read an order',
    access: signedByAcme,
    pathParameters: Type.Object({ authority: Type.String(), order: Type.String() }),
    errors: resourceErrors,
    authenticate: byAccount(environment),
    async act({ path }, context) {
      const caller = accountCaller(context)
      requirePostAsGet(caller)
      const { account, urls } = caller
      const { db, clock } = context.services
      const order = await findOrder(db, path.order, account.id, clock.now())
      if (order === undefined) throw acmeProblem('notFound', 'The account has no such order.')
      const parts = await listAuthorizations(db, order.id)
      return resourceReply(environment, urls, {
        location: urls.order(order.id),
        json: orderObject(order, parts, urls),
      })
    },
  })
}

/** `POST …/authorization/{authorization}` (RFC 8555 §7.5, §7.5.2): reads or deactivates an authorization. */
export function authorizationOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...resourceRow(environment),
    name: 'acme.authorization',
    reach: [],
    route: post('/acme/{authority}/authorization/{authorization}'),
    summary: 'Read or deactivate an authorization',
    access: signedByAcme,
    pathParameters: Type.Object({ authority: Type.String(), authorization: Type.String() }),
    errors: resourceErrors,
    authenticate: byAccount(environment),
    async act({ path }, context) {
      const caller = accountCaller(context)
      const { account, urls, payload } = caller
      const { db, clock } = context.services
      const now = clock.now()
      const found = await findAuthorization(db, path.authorization, account.id, now)
      if (found === undefined) throw acmeProblem('notFound', 'The account has no such authorization.')
      const reply = (status: typeof found.status) =>
        resourceReply(environment, urls, { json: authorizationObject({ ...found, status }, urls) })
      if (payload.length === 0) return reply(found.status)
      if (payloadObject(caller).status !== 'deactivated')
        throw acmeProblem('malformed', "'status' of an authorization can only be set to deactivated.")
      if (found.status !== 'pending' && found.status !== 'valid')
        throw acmeProblem('malformed', `The authorization is ${found.status}.`)
      const order = await findOrder(db, found.orderId, account.id, now)
      const isOpen = order?.status === 'pending' || order?.status === 'ready'
      const error = createProblem('unauthorized', 'The account deactivated an authorization.')
      await commitOrConflict(context.commit, [
        updateAuthorization(found, { status: 'deactivated' }),
        ...(order !== undefined && isOpen ? [updateOrder(order, { status: 'invalid', error })] : []),
      ])
      return reply('deactivated')
    },
  })
}
