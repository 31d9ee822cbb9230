import { randomBytes } from 'node:crypto'
import { newObjectId } from '@warder/keys'
import { type Operation, post } from '@warder/server'
import Type from 'typebox'
import { findAuthority } from '../../signing/authority.ts'
import { acmeProblem } from '../protocol/problem.ts'
import { type AcmeServices, define } from '../protocol/services.ts'
import { accountCaller, byAccount, payloadObject } from '../request/caller.ts'
import type { AcmeEnvironment } from '../request/environment.ts'
import { resourceErrors, resourceReply, resourceRow, signedByAcme } from '../request/row.ts'
import type { Authorization } from '../stored/authorization-store.ts'
import { registerEntryNamed } from '../stored/certificate-id.ts'
import { findByRegister } from '../stored/certificate-store.ts'
import type { ChallengeType, Identifier } from '../stored/challenge.ts'
import type { DirectorySettings } from '../stored/directory-store.ts'
import { countOrders, insertOrder, isReplaced, type Order } from '../stored/order-store.ts'
import { identifierText, readIdentifiers } from './identifiers.ts'
import { orderObject } from './order-object.ts'
import { requireCertify } from './permitted.ts'

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
