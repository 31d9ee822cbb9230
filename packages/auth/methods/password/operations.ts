import { failure } from '@warder/base'
import { defineOperation, del, get, type Operation, post, put } from '@warder/server'
import { GuardFailed, retryOnGuard, UniqueViolation } from '@warder/storage'
import Type from 'typebox'
import { realmAdmin, superAdmin } from '../../callers.ts'
import type { Subject } from '../../claims.ts'
import { countSessions } from '../../counting.ts'
import type { MethodFacts } from '../../login/method.ts'
import { listReply, type Page, PageQuery, readPage } from '../../paging.ts'
import { personEnd } from '../../person-store.ts'
import { RealmPath, UserPath } from '../../realms/realm.ts'
import { realmExists, realmOrThrow } from '../../realms/realm-store.ts'
import { announceCredential } from '../../revocations/feed-store.ts'
import {
  countEndedSessions,
  credentialSessionsEnd,
  passwordSessionsEnd,
} from '../../sessions/session-end-store.ts'
import { checkNewCredentialName } from '../../texts.ts'
import {
  ChangedCredentialReply,
  type Credential,
  CredentialInput,
  CredentialReply,
  type CredentialRequest,
  readCredential,
  showCredential,
  toStoredHash,
} from './credential.ts'
import {
  credentialInsertion,
  credentialRemoval,
  credentialUpdate,
  findCredential,
  listCredentials,
  listEveryCredential,
} from './credential-store.ts'
import { hashOwner } from './password-hash.ts'
import { readPasswordPolicy } from './password-rules.ts'
import type { PasswordServices } from './prove.ts'

const define = defineOperation<PasswordServices>()
const tag = 'Credentials'
const bodyLimit = 256 * 1024

/** @throws failure('not_found') */
async function credentialOrThrow(
  services: PasswordServices,
  realm: string,
  username: string,
): Promise<Credential> {
  const credential = await findCredential(services.db, realm, username)
  if (credential === undefined) throw failure('not_found', 'There is no such credential.')
  return credential
}

/** @throws failure('bad_request') when the body names another realm than the path */
function requireRealmOfPath(realm: string, body: CredentialRequest): void {
  if (body.realm === undefined || body.realm === realm) return
  throw failure('bad_request', 'Invalid request body: realm: must be the same as in the path.')
}

/**
 * RFC 6265 §6.1: the size that every browser stores, name, value and attributes together; larger cookies are dropped
 * silently.
 */
const maxCookieBytes = 4096

/** The reply to a change of a credential, with a warning if browsers would drop the session cookie of its user. */
function showChanged({ sessions }: PasswordServices, credential: Omit<Credential, 'version'>) {
  const { realm, username, roles, extraClaims } = credential
  const subject: Subject = { username, scheme: 'up', certificateSha256: undefined, roles, extraClaims }
  const size = sessions.cookieSize(subject, realm)
  const shown = showCredential(credential)
  if (size <= maxCookieBytes) return shown
  const warning = `The session cookie has ${size} bytes, but browsers store at most ${maxCookieBytes}: with these roles and extra_claims, the user can use the session only as a bearer token.`
  return { ...shown, warnings: [warning] }
}

/** @param methods the whole table: second factors are removed with their user */
export function credentialOperations(
  methods: readonly MethodFacts[],
): readonly Operation<PasswordServices>[] {
  return [
    createCredential,
    listInRealm,
    getCredential,
    replaceCredential,
    deleteCredential(methods),
    listEverywhere,
  ]
}

const createCredential = define({
  name: 'credentials.create',
  reach: ['make credential'],
  route: post('/realms/{realm_id}/userpass'),
  summary: 'Create a username and password',
  tag,
  access: realmAdmin,
  pathParameters: RealmPath,
  request: CredentialInput,
  bodyLimit,
  status: 201,
  reply: ChangedCredentialReply,
  errors: { 404: 'There is no such realm.', 409: 'A credential with this name exists in the realm.' },
  async act({ path, body }, context) {
    const { db, hasher } = context.services
    if (body.username === undefined)
      throw failure('bad_request', 'Invalid request body: username: is required.')
    requireRealmOfPath(path.realm_id, body)
    checkNewCredentialName(body.username)
    const { password, ...rest } = readCredential(
      body.username,
      body,
      readPasswordPolicy(context.services.config),
    )
    if (password === undefined)
      throw failure('bad_request', 'Invalid request body: password_input: is required.')
    await realmOrThrow(db, path.realm_id)
    const taken = failure('conflict', 'A credential with this username exists already.')
    if ((await findCredential(db, path.realm_id, body.username)) !== undefined) throw taken
    const passwordHash = await toStoredHash(password, hasher, hashOwner(context.request, path.realm_id))
    const credential = { realm: path.realm_id, username: body.username, passwordHash, ...rest }
    const shown = showCredential(credential)
    context.audit({ realm: path.realm_id, object: body.username, details: { after: shown } })
    try {
      // The name may already vote on approvals: through an identity provider, or a certificate that only
      // another service knows.
      const told = announceCredential(db, path.realm_id, body.username, context.services.now())
      await context.commit([realmExists(path.realm_id), credentialInsertion(credential), ...told])
    } catch (error) {
      if (error instanceof UniqueViolation) throw taken
      if (error instanceof GuardFailed) throw failure('not_found', 'There is no such realm.')
      throw error
    }
    return showChanged(context.services, credential)
  },
})

const listInRealm = define({
  name: 'credentials.list',
  reach: ['reveal existence', 'reveal attributes'],
  route: get('/realms/{realm_id}/userpass'),
  summary: 'Credentials of a realm',
  tag,
  access: realmAdmin,
  pathParameters: RealmPath,
  queryParameters: PageQuery,
  paged: true,
  reply: Type.Array(CredentialReply),
  errors: { 404: 'There is no such realm.' },
  async act({ path, query }, { services }) {
    await realmOrThrow(services.db, path.realm_id)
    const read = (page: Page) => listCredentials(services.db, path.realm_id, page)
    return listReply(readPage(query), read, ({ username }) => username, showCredential)
  },
})

const getCredential = define({
  name: 'credentials.get',
  reach: ['reveal attributes'],
  route: get('/realms/{realm_id}/userpass/{username}'),
  summary: 'A credential',
  tag,
  access: realmAdmin,
  pathParameters: UserPath,
  reply: CredentialReply,
  errors: { 404: 'There is no such credential.' },
  act: async ({ path }, { services }) =>
    showCredential(await credentialOrThrow(services, path.realm_id, path.username)),
})

const replaceCredential = define({
  name: 'credentials.replace',
  reach: ['make credential', 'end session'],
  route: put('/realms/{realm_id}/userpass/{username}'),
  summary: 'Replace a credential; without password_input the password is unchanged',
  description:
    'The name in the path applies. A new password ends the sessions that were created with the old one.',
  tag,
  access: realmAdmin,
  pathParameters: UserPath,
  request: CredentialInput,
  bodyLimit,
  reply: ChangedCredentialReply,
  errors: { 404: 'There is no such credential.' },
  async act({ path, body }, context) {
    const { services } = context
    const { realm_id: realm, username } = path
    requireRealmOfPath(realm, body)
    const { password, ...rest } = readCredential(username, body, readPasswordPolicy(services.config))
    await credentialOrThrow(services, realm, username)
    const owner = hashOwner(context.request, realm)
    const passwordHash =
      password === undefined ? undefined : await toStoredHash(password, services.hasher, owner)
    return retryOnGuard(5, async () => {
      const before = await credentialOrThrow(services, realm, username)
      const after = { ...before, ...rest, passwordHash: passwordHash ?? before.passwordHash }
      const details = {
        before: showCredential(before),
        after: showCredential(after),
        password_changed: passwordHash !== undefined,
      }
      context.audit({ realm, object: username, details })
      const end = { at: services.now(), reason: 'password_changed' } as const
      const ended = passwordHash === undefined ? [] : passwordSessionsEnd(services.db, realm, username, end)
      const told = passwordHash === undefined ? [] : announceCredential(services.db, realm, username, end.at)
      const results = await context.commit([credentialUpdate(after), ...told, ...ended])
      countSessions(services.metrics, 'revoked', ended.length === 0 ? 0 : countEndedSessions(results))
      return showChanged(services, after)
    })
  },
})

function deleteCredential(methods: readonly MethodFacts[]): Operation<PasswordServices> {
  return define({
    name: 'credentials.delete',
    reach: ['end credential', 'end session'],
    route: del('/realms/{realm_id}/userpass/{username}'),
    summary: 'Delete a credential, its second factors and its sessions',
    tag,
    access: realmAdmin,
    pathParameters: UserPath,
    status: 204,
    async act({ path }, context) {
      const { realm_id: realm, username } = path
      const before = await findCredential(context.services.db, realm, username)
      const details = { before: before === undefined ? null : showCredential(before) }
      context.audit({ realm, object: username, details })
      if (before === undefined) return
      const { db, metrics, now } = context.services
      const end = { at: now(), reason: 'deleted' } as const
      // Deletes the credential first: a concurrent login either finds it gone, or the next statements find
      // its session.
      const results = await context.commit([
        credentialRemoval(realm, username),
        ...methods.flatMap(({ second }) => second?.removal(realm, username) ?? []),
        ...personEnd(db, realm, username, end),
        ...credentialSessionsEnd(db, realm, username, end),
      ])
      countSessions(metrics, 'revoked', countEndedSessions(results))
    },
  })
}

const listEverywhere = define({
  name: 'credentials.list_all',
  reach: ['reveal existence', 'reveal attributes'],
  route: get('/admins/userpass'),
  summary: 'Credentials of every realm',
  description: 'Ordered by realm and name; `after` is `realm/username`.',
  tag,
  access: superAdmin,
  queryParameters: PageQuery,
  paged: true,
  reply: Type.Array(CredentialReply),
  act({ query }, { services }) {
    const read = (page: Page) => listEveryCredential(services.db, page)
    const toCursor = ({ realm, username }: Credential) => `${realm}/${username}`
    return listReply(readPage(query), read, toCursor, showCredential)
  },
})
