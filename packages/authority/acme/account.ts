import { parseStrictObject } from '@warder/base'
import { type Operation, post } from '@warder/server'
import { UniqueViolation } from '@warder/storage'
import Type from 'typebox'
import { type Account, findAccountByKey, updateAccount } from './account-store.ts'
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
import { type AcmeEnvironment, type AcmeServices, type AcmeUrls, define } from './environment.ts'
import { headerText, readJws, readSigningKey, requireSignature } from './jws.ts'
import { listOrders } from './order-store.ts'
import { acmeProblem } from './problem.ts'

const maxContacts = 10
const maxContactLength = 320

/** RFC 8555 §7.3: one mail address in each. @throws malformed, unsupportedContact, invalidContact */
export function readContacts(value: unknown): readonly string[] {
  if (value === undefined) return []
  if (!Array.isArray(value) || value.length > maxContacts)
    throw acmeProblem('malformed', `'contact' must be a list of at most ${maxContacts} addresses.`)
  return value.map((contact: unknown) => {
    if (typeof contact !== 'string' || contact.length > maxContactLength)
      throw acmeProblem('malformed', "An address in 'contact' must be a string.")
    if (!contact.startsWith('mailto:'))
      throw acmeProblem('unsupportedContact', "An address in 'contact' must begin with mailto:.")
    if (!/^mailto:[^\s@,?\p{Cc}\p{Cf}]+@[^\s@,?\p{Cc}\p{Cf}]+$/u.test(contact) || !contact.isWellFormed())
      throw acmeProblem('invalidContact', "An address in 'contact' must be exactly one mail address.")
    return contact
  })
}

const pathParameters = Type.Object({ authority: Type.String(), account: Type.String() })
const ordersPerPage = 100

/** RFC 8555 §7.1.2 */
export function accountObject({ id, status, contact }: Account, urls: AcmeUrls): unknown {
  return { status, contact, orders: `${urls.account(id)}/orders` }
}

function requireOwn(account: Account, id: string): void {
  if (account.id !== id) throw acmeProblem('unauthorized', 'The request was signed by another account.')
}

/** `POST …/account/{account}` (RFC 8555 §7.3.2, §7.3.6): reads, updates or deactivates an account. */
export function accountOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...resourceRow(environment),
    name: 'acme.account',
    reach: ['change settings', 'end credential'],
    route: post('/acme/{authority}/account/{account}'),
    summary: 'Read, change or deactivate the account',
    access: signedByAcme,
    pathParameters,
    errors: resourceErrors,
    authenticate: byAccount(environment),
    async act({ path }, context) {
      const caller = accountCaller(context)
      const { account, urls, payload } = caller
      requireOwn(account, path.account)
      const reply = (now: Account) =>
        resourceReply(environment, urls, {
          location: urls.account(account.id),
          json: accountObject(now, urls),
        })
      if (payload.length === 0) return reply(account)
      const { contact, status } = payloadObject(caller)
      if (status !== undefined && status !== 'valid' && status !== 'deactivated')
        throw acmeProblem('malformed', "'status' of an account can only be set to deactivated.")
      const to = {
        ...(status === 'deactivated' && { status: 'deactivated' as const }),
        ...(contact !== undefined && { contact: readContacts(contact) }),
      }
      if (Object.keys(to).length === 0) return reply(account)
      context.audit({ details: { changed: Object.keys(to) } })
      await commitOrConflict(context.commit, [updateAccount(account, to)])
      return reply({ ...account, ...to })
    },
  })
}

/** `POST …/account/{account}/orders` (RFC 8555 §7.1.2.1). */
export function accountOrdersOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...resourceRow(environment),
    name: 'acme.account.orders',
    reach: ['reveal public'],
    route: post('/acme/{authority}/account/{account}/orders'),
    summary: 'The orders of the account',
    access: signedByAcme,
    pathParameters,
    queryParameters: Type.Object({ after: Type.Optional(Type.String({ maxLength: 64 })) }),
    errors: resourceErrors,
    authenticate: byAccount(environment),
    async act({ path, query }, context) {
      const caller = accountCaller(context)
      const { account, urls } = caller
      requireOwn(account, path.account)
      requirePostAsGet(caller)
      const found = await listOrders(context.services.db, account.id, {
        after: query.after ?? '',
        limit: ordersPerPage + 1,
      })
      const shown = found.slice(0, ordersPerPage)
      const next =
        found.length > ordersPerPage
          ? [['next', `${urls.account(account.id)}/orders?after=${shown.at(-1)}`] as const]
          : []
      return resourceReply(environment, urls, {
        json: { orders: shown.map((id) => urls.order(id)) },
        links: next,
      })
    },
  })
}

/** `POST …/key-change` (RFC 8555 §7.3.5): replaces the account key. The new key has signed the inner JWS. */
export function keyChangeOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...resourceRow(environment),
    name: 'acme.key_change',
    reach: ['change settings'],
    route: post('/acme/{authority}/key-change'),
    summary: 'Change the key of the account',
    access: signedByAcme,
    pathParameters: Type.Object({ authority: Type.String() }),
    errors: { ...resourceErrors, 409: 'The key already has an account.' },
    authenticate: byAccount(environment),
    async act(_input, context) {
      const caller = accountCaller(context)
      const { account, urls, key, directory } = caller
      const { db } = context.services
      const inner = readJws(payloadObject(caller))
      if (Object.hasOwn(inner.header, 'nonce') || Object.hasOwn(inner.header, 'kid'))
        throw acmeProblem('malformed', "The inner JWS must have neither 'nonce' nor 'kid'.")
      if (headerText(inner, 'url') !== urls.to('key-change'))
        throw acmeProblem('malformed', "'url' of the inner JWS differs from that of the request.")
      const next = readSigningKey(inner.header.jwk)
      requireSignature(inner, next.key)
      const said = parseStrictObject(inner.payload)
      if (said?.account !== urls.account(account.id))
        throw acmeProblem('malformed', "'account' of the inner JWS is another account.")
      if (said.oldKey === undefined || readSigningKey(said.oldKey).thumbprint !== key.thumbprint)
        throw acmeProblem('malformed', "'oldKey' of the inner JWS is not the key of the account.")
      const keyConflict = (by: Account) =>
        acmeProblem('conflict', 'The key already has an account.', {
          headers: { Location: urls.account(by.id) },
        })
      const other = await findAccountByKey(db, directory.authorityId, next.thumbprint)
      if (other !== undefined) throw keyConflict(other)
      const to = { thumbprint: next.thumbprint, jwk: JSON.stringify(next.jwk) }
      context.audit({ details: { new_key: next.thumbprint } })
      try {
        await commitOrConflict(context.commit, [updateAccount(account, to)])
      } catch (error) {
        const winner =
          error instanceof UniqueViolation
            ? await findAccountByKey(db, directory.authorityId, next.thumbprint)
            : undefined
        throw winner === undefined ? error : keyConflict(winner)
      }
      return resourceReply(environment, urls, {
        location: urls.account(account.id),
        json: accountObject(account, urls),
      })
    },
  })
}
