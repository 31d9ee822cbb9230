import { randomBytes } from 'node:crypto'
import { failure } from '@warder/base'
import { newObjectId, requirePrincipal } from '@warder/keys'
import { del, get, type Operation, pageReply, post } from '@warder/server'
import Type from 'typebox'
import {
  findAccount,
  insertCredential,
  listAccounts,
  listCredentials,
  removeCredential,
  updateAccount,
} from './account-store.ts'
import {
  managementRow,
  orConflict,
  orNotFound,
  requireAuthority,
  requireOpen,
} from './directory-management.ts'
import { type AcmeEnvironment, type AcmeServices, AcmeUrls, define } from './environment.ts'

const day = 86_400_000
const defaultCredentialDays = 7
const macKeyBytes = 32
const perPage = 100

const CredentialRequest = Type.Object({
  name: Type.Optional(Type.String({ maxLength: 100, description: 'Description for users.' })),
  days: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 365, description: 'Time in which an account can be bound with it.' }),
  ),
})
const CredentialReply = Type.Object({
  kid: Type.String(),
  hmac_key: Type.String({ description: 'Base64url; shown only once.' }),
  directory: Type.String(),
  expires_at: Type.String(),
})
const ListedCredential = Type.Object({
  kid: Type.String(),
  owner: Type.String(),
  name: Type.String(),
  created_at: Type.String(),
  expires_at: Type.String({ description: 'Time until which an account can be bound with it.' }),
  account: Type.Optional(Type.String({ description: 'Account that was bound with it.' })),
})
const ListedAccount = Type.Object({
  id: Type.String(),
  owner: Type.String(),
  status: Type.String(),
  contact: Type.Array(Type.String()),
  created_at: Type.String(),
  credential: Type.Optional(Type.String()),
})
const Page = Type.Object({ after: Type.Optional(Type.String({ maxLength: 64 })) })
const path = Type.Object({ id: Type.String() })

const time = (ms: number): string => new Date(ms).toISOString()

/** Credentials and accounts of an authority that is open for ACME. */
export function accountManagement(environment: AcmeEnvironment): readonly Operation<AcmeServices>[] {
  return [createCredential(environment), credentialList, deleteCredential, accountList, revokeAccount]
}

function createCredential(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...managementRow,
    name: 'pki.acme.credentials.create',
    reach: ['make credential'],
    asks: ['certify'],
    route: post('/v1/pki/authorities/{id}/acme/credentials'),
    summary: 'Create a credential that binds one ACME account to the caller',
    description:
      'The account orders certificates in the name of the caller while the caller has the right certify.',
    pathParameters: path,
    request: CredentialRequest,
    reply: CredentialReply,
    status: 201,
    async act({ path: { id }, body }, context) {
      await requireAuthority(context, id, 'certify')
      await requireOpen(context, id)
      const { clock, seal } = context.services
      const now = clock.now()
      const macKey = randomBytes(macKeyBytes)
      const credential = {
        id: newObjectId(now),
        authorityId: id,
        owner: requirePrincipal(context).name,
        name: body.name ?? '',
        createdAt: now,
        expiresAt: now + (body.days ?? defaultCredentialDays) * day,
      }
      context.audit({ details: { credential: credential.id, name: credential.name } })
      await context.commit([insertCredential(seal, credential, macKey)])
      return {
        kid: credential.id,
        hmac_key: macKey.toString('base64url'),
        directory: new AcmeUrls(environment.baseUrl, id).directory,
        expires_at: time(credential.expiresAt),
      }
    },
  })
}

const credentialList = define({
  ...managementRow,
  name: 'pki.acme.credentials.list',
  reach: ['reveal attributes'],
  asks: ['authorize'],
  route: get('/v1/pki/authorities/{id}/acme/credentials'),
  summary: 'The credentials of an authority, without their keys',
  pathParameters: path,
  queryParameters: Page,
  paged: true,
  reply: Type.Object({
    credentials: Type.Array(ListedCredential),
    next: Type.Optional(Type.String()),
  }),
  async act({ path: { id }, query }, context) {
    await requireAuthority(context, id, 'authorize')
    const { db } = context.services
    const { rows, next } = await readPage((page) => listCredentials(db, id, page), query.after)
    const credentials = rows.map(({ id: kid, owner, name, createdAt, expiresAt, account }) => ({
      kid,
      owner,
      name,
      created_at: time(createdAt),
      expires_at: time(expiresAt),
      ...(account !== undefined && { account }),
    }))
    return pageReply({ credentials, ...(next !== undefined && { next }) }, next)
  },
})

const deleteCredential = define({
  ...managementRow,
  name: 'pki.acme.credentials.delete',
  reach: ['end credential'],
  asks: ['authorize'],
  route: del('/v1/pki/authorities/{id}/acme/credentials/{kid}'),
  summary: 'Delete a credential; an account that was bound with it stays',
  pathParameters: Type.Object({ id: Type.String(), kid: Type.String() }),
  status: 204,
  async act({ path: { id, kid } }, context) {
    await requireAuthority(context, id, 'authorize')
    context.audit({ details: { credential: kid } })
    await orNotFound(context.commit([removeCredential(id, kid)]), 'There is no such credential.')
  },
})

const accountList = define({
  ...managementRow,
  name: 'pki.acme.accounts.list',
  reach: ['reveal attributes'],
  asks: ['authorize'],
  route: get('/v1/pki/authorities/{id}/acme/accounts'),
  summary: 'The ACME accounts of an authority',
  pathParameters: path,
  queryParameters: Page,
  paged: true,
  reply: Type.Object({
    accounts: Type.Array(ListedAccount),
    next: Type.Optional(Type.String()),
  }),
  async act({ path: { id }, query }, context) {
    await requireAuthority(context, id, 'authorize')
    const { db } = context.services
    const { rows, next } = await readPage((page) => listAccounts(db, id, page), query.after)
    const accounts = rows.map((account) => ({
      id: account.id,
      owner: account.owner,
      status: account.status,
      contact: account.contact,
      created_at: time(account.createdAt),
      ...(account.credential !== undefined && { credential: account.credential }),
    }))
    return pageReply({ accounts, ...(next !== undefined && { next }) }, next)
  },
})

const revokeAccount = define({
  ...managementRow,
  name: 'pki.acme.accounts.revoke',
  reach: ['end credential'],
  asks: ['authorize'],
  route: del('/v1/pki/authorities/{id}/acme/accounts/{account}'),
  summary: 'Revoke the access of an account; its certificates stay valid',
  pathParameters: Type.Object({ id: Type.String(), account: Type.String() }),
  status: 204,
  async act({ path: { id, account } }, context) {
    await requireAuthority(context, id, 'authorize')
    context.audit({ details: { acme_account: account } })
    const found = await findAccount(context.services.db, id, account)
    if (found === undefined) throw failure('not_found', 'There is no such account.')
    await orConflict(context.commit([updateAccount(found, { status: 'revoked' })]))
  },
})

/** Reads one row more than a page has: it shows whether another page follows. */
async function readPage<Row extends { readonly id: string }>(
  read: (page: { readonly after: string; readonly limit: number }) => Promise<readonly Row[]>,
  after = '',
): Promise<{ readonly rows: readonly Row[]; readonly next: string | undefined }> {
  const found = await read({ after, limit: perPage + 1 })
  const rows = found.slice(0, perPage)
  return { rows, next: found.length > perPage ? rows.at(-1)?.id : undefined }
}
