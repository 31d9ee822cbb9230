import { createHmac, timingSafeEqual } from 'node:crypto'
import { parseStrictObject } from '@warder/base'
import { newObjectId } from '@warder/keys'
import { type Operation, type OperationContext, post } from '@warder/server'
import { type Change, GuardFailed, UniqueViolation } from '@warder/storage'
import Type from 'typebox'
import { accountObject, readContacts } from './account.ts'
import {
  type Account,
  bindCredential,
  type Credential,
  countAccounts,
  findAccountByKey,
  findCredential,
  insertAccount,
} from './account-store.ts'
import {
  type AcmeCaller,
  admit,
  byKey,
  payloadObject,
  readCaller,
  resourceErrors,
  resourceReply,
  resourceRow,
  signedByAcme,
} from './caller.ts'
import { type AcmeEnvironment, type AcmeServices, define } from './environment.ts'
import { headerText, readJws, readSigningKey } from './jws.ts'
import { acmeProblem } from './problem.ts'

const hashes: Readonly<Record<string, string>> = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' }

/**
 * Verifies an external account binding (RFC 8555 §7.3.4): a JWS over the account key with the MAC key of a credential.
 * Returns the credential.
 * @throws malformed; unauthorized, alike for a wrong MAC and for a credential that is unknown, used or expired
 */
async function verifyBinding(
  { db, seal, clock }: AcmeServices,
  { directory, urls, key }: AcmeCaller,
  binding: unknown,
): Promise<Credential> {
  const jws = readJws(binding)
  const hash = hashes[headerText(jws, 'alg') ?? '']
  if (hash === undefined)
    throw acmeProblem(
      'badSignatureAlgorithm',
      "'alg' of an external account binding must be HS256, HS384 or HS512.",
      {
        members: { algorithms: Object.keys(hashes) },
      },
    )
  if (Object.hasOwn(jws.header, 'nonce'))
    throw acmeProblem('malformed', 'An external account binding must not have a nonce.')
  if (headerText(jws, 'url') !== urls.to('new-account'))
    throw acmeProblem('malformed', "'url' of the external account binding differs from that of the request.")
  const id = headerText(jws, 'kid')
  if (id === undefined) throw acmeProblem('malformed', "The external account binding has no 'kid'.")
  const found = await findCredential(db, seal, directory.authorityId, id)
  const refused = acmeProblem('unauthorized', 'The external account binding is invalid.')
  if (found === undefined) throw refused
  const { credential, macKey } = found
  const mac = createHmac(hash, macKey).update(jws.input).digest()
  macKey.fill(0)
  if (mac.length !== jws.signature.length || !timingSafeEqual(mac, jws.signature)) throw refused
  const bound = parseStrictObject(jws.payload)
  if (bound === undefined || readSigningKey(bound).thumbprint !== key.thumbprint)
    throw acmeProblem('malformed', 'The external account binding is for another key.')
  if (credential.account !== undefined || credential.expiresAt <= clock.now()) throw refused
  return credential
}

/** Maximum number of new accounts per hour of a directory that requires no credential. */
const maxAccountsPerHour = 500
const hour = 3_600_000

/** `POST …/new-account` (RFC 8555 §7.3): creates an account for the request's key, or returns its existing account. */
export function newAccountOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  /** Verified bindings of requests that are under way. */
  const credentials = new WeakMap<AcmeCaller, Credential>()
  return define({
    ...resourceRow(environment),
    name: 'acme.new_account',
    reach: ['make credential'],
    route: post('/acme/{authority}/new-account'),
    summary: 'Create an account, or find the account of a key',
    access: signedByAcme,
    pathParameters: Type.Object({ authority: Type.String() }),
    status: 201,
    errors: { ...resourceErrors, 200: 'The key already has an account.' },
    authenticate: byKey(environment, ['jwk'], async (caller, context) => {
      const { name, credential } = await findOwner(caller, context.services)
      if (credential !== undefined) credentials.set(caller, credential)
      await admit(context, { name, method: 'acme' })
      return name
    }),
    async act(_input, context) {
      const caller = readCaller(context)
      const { account, status } = await findOrCreate(caller, context, credentials.get(caller))
      if (account.status !== 'valid')
        throw acmeProblem('unauthorized', `The account of this key is ${account.status}.`)
      context.audit({ details: { acme_account: account.id } })
      const { urls } = caller
      const location = urls.account(account.id)
      return resourceReply(environment, urls, { status, location, json: accountObject(account, urls) })
    },
  })
}

/**
 * The user that the account acts for, and the credential that names this user. A client that may not have an account is
 * refused here, before other checks.
 */
async function findOwner(
  caller: AcmeCaller,
  services: AcmeServices,
): Promise<{ readonly name: string; readonly credential?: Credential }> {
  const { directory, key } = caller
  const { db, clock } = services
  const existing = await findAccountByKey(db, directory.authorityId, key.thumbprint)
  if (existing !== undefined) return { name: existing.owner }
  const { onlyReturnExisting, externalAccountBinding } = payloadObject(caller)
  if (onlyReturnExisting === true) throw acmeProblem('accountDoesNotExist', 'The key has no account.')
  if (externalAccountBinding !== undefined) {
    const credential = await verifyBinding(services, caller, externalAccountBinding)
    return { name: credential.owner, credential }
  }
  if (directory.settings.externalAccountRequired)
    throw acmeProblem(
      'externalAccountRequired',
      'This authority requires an external account binding: request a credential from its operator.',
    )
  if ((await countAccounts(db, directory.authorityId, clock.now() - hour)) >= maxAccountsPerHour)
    throw acmeProblem('rateLimited', 'Too many accounts were created in this hour.', {
      retryAfterSeconds: 600,
    })
  return { name: directory.openedBy }
}

interface AccountAndStatus {
  readonly account: Account
  readonly status: 200 | 201
}

async function findOrCreate(
  caller: AcmeCaller,
  context: OperationContext<AcmeServices>,
  credential: Credential | undefined,
): Promise<AccountAndStatus> {
  const { directory, key } = caller
  const { db, clock } = context.services
  const find = () => findAccountByKey(db, directory.authorityId, key.thumbprint)
  const existing = await find()
  if (existing !== undefined) return { account: existing, status: 200 }
  const now = clock.now()
  const account = buildAccount(caller, context.principal?.name ?? directory.openedBy, credential, now)
  context.audit({ details: { acme_account: account.id, credential: credential?.id } })
  const changes: Change[] = [insertAccount(account)]
  if (credential !== undefined) changes.push(bindCredential(credential.id, account.id, now))
  try {
    await context.commit(changes)
  } catch (error) {
    if (error instanceof GuardFailed)
      throw acmeProblem('unauthorized', 'The external account binding is invalid.')
    if (!(error instanceof UniqueViolation)) throw error
    // Two requests with the same key arrived at the same time.
    const winner = await find()
    if (winner !== undefined) return { account: winner, status: 200 }
    throw error
  }
  return { account: { ...account, version: 1 }, status: 201 }
}

/** @throws userActionRequired unless the client agrees to the terms of service */
function buildAccount(
  caller: AcmeCaller,
  owner: string,
  credential: Credential | undefined,
  createdAt: number,
): Omit<Account, 'version'> {
  const { directory, key } = caller
  const { contact, termsOfServiceAgreed } = payloadObject(caller)
  if (directory.settings.termsOfService !== undefined && termsOfServiceAgreed !== true)
    throw acmeProblem('userActionRequired', 'The terms of service must be agreed to.')
  return {
    id: newObjectId(createdAt),
    authorityId: directory.authorityId,
    thumbprint: key.thumbprint,
    jwk: JSON.stringify(key.jwk),
    status: 'valid',
    contact: readContacts(contact),
    owner,
    credential: credential?.id,
    createdAt,
  }
}
