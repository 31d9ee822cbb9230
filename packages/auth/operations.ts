import { readFileSync } from 'node:fs'
import { type Clock, failure } from '@warder/base'
import { consoleOperations } from '@warder/console'
import type { Outbound } from '@warder/outbound'
import {
  type AuditReaderServices,
  auditOperations,
  authorityOperation,
  type HealthDetailsServices,
  healthDetailsOperation,
  type LocalAuthorityReader,
  type NoticeReceiver,
} from '@warder/runtime'
import {
  type Access,
  defineOperation,
  fromProbes,
  get,
  type HttpMethod,
  type Operation,
  type OperationContext,
  type OperationInput,
  rawReply,
} from '@warder/server'
import Type, { type TSchema } from 'typebox'
import { accountOperations } from './account.ts'
import { adminOperations } from './admins/operations.ts'
import { anyCaller, findMachineToken, requireSession, superAdmin } from './callers.ts'
import { type CertifyServices, certifyOperations } from './certify.ts'
import { loginOperations } from './login/login.ts'
import { appRoleOperations } from './machines/approle-operations.ts'
import { orchestratorOperations } from './machines/orchestrator-operations.ts'
import { tokenOperations } from './machines/token-operations.ts'
import type { MachineServices } from './machines/tokens.ts'
import { type MethodServices, methods } from './methods/methods.ts'
import { testNotices } from './notices.ts'
import { realmRules } from './realm-rules.ts'
import { realmOperations } from './realms/operations.ts'
import { type RevocationServices, revocationOperations } from './revocations/operations.ts'
import { sessionOperations } from './sessions/operations.ts'
import { sessionCookie } from './sessions/session.ts'
import type { AuthConfig } from './settings.ts'
import { sessionIssuers } from './signing/signing-key-store.ts'
import type { Signer } from './signing/signing-keys.ts'
import { userOperations } from './user-operations.ts'

/**
 * Services used by the operations in one worker: the union of those that the folders declare. Each folder declares
 * its own needs and sees only these.
 */
export interface AuthServices
  extends MethodServices,
    Omit<MachineServices, 'providers'>,
    CertifyServices,
    RevocationServices,
    AuditReaderServices,
    HealthDetailsServices {
  readonly config: AuthConfig
  readonly clock: Clock
  readonly outbound: Outbound
  readonly sessionSigner: Signer
  readonly localAuthority: LocalAuthorityReader
  /** Receivers of notices, for a test. */
  readonly receivers: readonly NoticeReceiver[]
}

/** Semantic version of the service, as `GET /public/version` answers it. */
export const version: string = (
  JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8')) as { version: string }
).version

const define = defineOperation<AuthServices>()
const tag = 'Public'
const Text = Type.String()
const KeySetReply = Type.Object({
  keys: Type.Array(Type.Object({ kty: Text, crv: Text, x: Text, y: Text, use: Text, alg: Text, kid: Text })),
})
/** If keys are ever rotated, a new key must be published for an hour before it signs. */
const cacheControl = 'public, max-age=3600'

const publicOperations: readonly Operation<AuthServices>[] = [
  define({
    name: 'version',
    reach: ['reveal public'],
    route: get('/public/version'),
    summary: 'The version of the service',
    tag,
    access: anyCaller,
    foreignParameters: fromProbes,
    replyContentType: 'text/plain; charset=utf-8',
    cors: 'any-origin',
    audited: false,
    act: () => rawReply({ raw: version, contentType: 'text/plain; charset=utf-8' }),
  }),
  define({
    name: 'jwks.session',
    reach: ['reveal public'],
    route: get('/.well-known/jwks.json'),
    summary: 'Public keys of session tokens',
    tag,
    access: anyCaller,
    foreignParameters: fromProbes,
    reply: KeySetReply,
    errors: { 404: 'Publication is off (`publish_session_jwks`).' },
    cors: 'any-origin',
    cacheControl,
    audited: false,
    act(_input, { services }) {
      if (!services.config.publish_session_jwks) throw failure('not_found', 'Session keys are not published.')
      return { keys: services.sessionSigner.publicJwks }
    },
  }),
  define({
    name: 'issuers.session',
    reach: ['reveal public'],
    route: get('/.well-known/session-issuers'),
    summary: 'Issuers of session tokens: of every node that shares the signing keys',
    tag,
    access: anyCaller,
    foreignParameters: fromProbes,
    reply: Type.Object({ issuers: Type.Array(Text) }),
    errors: { 404: 'Publication of the session keys is off (`publish_session_jwks`).' },
    audited: false,
    async act(_input, { services }) {
      if (!services.config.publish_session_jwks) throw failure('not_found', 'Session keys are not published.')
      return { issuers: await sessionIssuers(services.db) }
    },
  }),
  define({
    name: 'jwks.certificate',
    reach: ['reveal public'],
    route: get('/.well-known/certificate-jwks.json'),
    summary: 'Public keys of certificates',
    tag,
    access: anyCaller,
    foreignParameters: fromProbes,
    reply: KeySetReply,
    errors: { 404: 'Certificate signing is not configured.' },
    cors: 'any-origin',
    cacheControl,
    audited: false,
    act(_input, { services }) {
      const signer = services.certificateSigner
      if (signer === undefined) throw failure('not_found', 'Certificate signing is not configured.')
      return { keys: signer.publicJwks }
    },
  }),
]

const StatedRealm = Type.Optional(
  Type.String({ maxLength: 256, description: 'The realm in the path, or of the caller.' }),
)

/**
 * Adds a check to every operation that needs a credential: `?realm=` is optional and must name the realm of the path
 * or that of the caller. Operations that declare the parameter define its meaning themselves.
 */
function withStatedRealm(operation: Operation<AuthServices>): Operation<AuthServices> {
  const { access } = operation
  const declared = listQueryParameters(operation)
  if (access.public === true || 'realm' in declared) return operation
  const checked: Access<AuthServices> = {
    ...access,
    async check(input, context) {
      await access.check?.(input, context)
      if (input.query.realm !== undefined) requireStatedRealm(input, context)
    },
  }
  return { ...operation, access: checked, queryParameters: Type.Object({ ...declared, realm: StatedRealm }) }
}

/** The query parameters that an operation declares, by name. */
function listQueryParameters({
  name,
  queryParameters,
}: Operation<AuthServices>): Readonly<Record<string, TSchema>> {
  if (queryParameters === undefined) return {}
  const { properties } = queryParameters as { readonly properties?: Record<string, TSchema> }
  if (properties === undefined) throw new Error(`${name}: its query parameters must be one object`)
  return properties
}

/** @throws failure('unauthorized') when `?realm=` names neither the realm of the path nor that of the caller */
function requireStatedRealm({ path, query }: OperationInput, context: OperationContext<AuthServices>): void {
  const own = findMachineToken(context)?.realm ?? requireSession(context).session.realm
  if (query.realm === path.realm_id || query.realm === own) return
  throw failure('unauthorized', 'There is no valid session of this realm.')
}

const reading: ReadonlySet<HttpMethod> = new Set(['GET', 'HEAD', 'LIST'])

/** Delays the reply of an operation until every subscriber of the revocation feed has acknowledged the revocation. */
function replyAfterAck<Services extends RevocationServices>(
  operation: Operation<Services>,
): Operation<Services> {
  if (operation.route.methods.every((method) => reading.has(method))) return operation
  return {
    ...operation,
    async act(input, context) {
      const result = await operation.act(input, context)
      await context.services.revocations.waitForAcks()
      return result
    },
  }
}

/** The default body limit fits a realm with its longest lists; endpoints with a smaller limit declare it. */
const bodyLimit = 1024 * 1024

const operations: readonly Operation<AuthServices>[] = [
  ...publicOperations,
  // Each realm has its own methods of login: `login.methods`.
  ...consoleOperations<AuthServices>({
    service: 'auth',
    other: ({ services }) => services.config.kms_public_url,
    authority: async ({ services }) => (await services.localAuthority())?.sha256,
    logins: async () => ({ ways: [], realms: [] }),
    sessionCookie,
  }),
  authorityOperation(),
  ...loginOperations(methods),
  ...certifyOperations,
  ...sessionOperations,
  ...accountOperations,
  testNotices,
  ...revocationOperations,
  ...userOperations,
  ...realmOperations(realmRules),
  ...adminOperations,
  ...methods.flatMap((method) => method.operations(methods)),
  ...appRoleOperations,
  ...orchestratorOperations,
  ...tokenOperations,
  // The log has records of all realms.
  ...auditOperations<AuthServices>(superAdmin, superAdmin),
  healthDetailsOperation<AuthServices>(superAdmin),
]

/** Every endpoint of the service. The runtime provides health and documentation. */
export const authOperations: readonly Operation<AuthServices>[] = operations.map((operation) =>
  replyAfterAck(withStatedRealm({ bodyLimit, ...operation })),
)
