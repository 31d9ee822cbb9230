import { failure } from '@warder/base'
import {
  defineOperation,
  del,
  get,
  JwtRejected,
  list,
  methods,
  type OperationContext,
  serviceAccountAlgorithms,
  verifyToken,
} from '@warder/server'
import { GuardFailed, retryOnGuard } from '@warder/storage'
import Type from 'typebox'
import { anyCaller } from '../callers.ts'
import { countLogin, countTokens } from '../counting.ts'
import { takeLogin } from '../login/throttle-login.ts'
import { realmExists } from '../realms/realm-store.ts'
import { PlainText, requireHttps } from '../texts.ts'
import {
  Duration,
  isWithin,
  NameList,
  readDuration,
  readNameList,
  readTokenLimits,
  requireKnownAddress,
  showTokenLimits,
  tokenLimitMembers,
  tokenLimitReply,
} from './limits.ts'
import {
  findOrchestratorRole,
  listOrchestratorRoles,
  type OrchestratorRole,
  orchestratorRoleRemoval,
  orchestratorRoleUnchanged,
  orchestratorRoleUpsert,
} from './orchestrator-store.ts'
import {
  checkPolicyNames,
  RoleName,
  RolePath,
  RoleQuery,
  realmOfNewRole,
  requirePolicies,
  requireRealmOfRole,
  requireRole,
  requireRolePowers,
  roleAdmin,
} from './role-name.ts'
import { entityNames, roleTokensEnd, roleTokensRevocation } from './token-store.ts'
import {
  issueToken,
  MachineAuthReply,
  type MachineServices,
  machineAuth,
  vaultErrors,
  withAliases,
} from './tokens.ts'

/** Minimum interval between fetches of a key set for unknown keys. */
const refreshSeconds = 60
const leewaySeconds = 60

/** A service account. Namespace and name are DNS labels, so they contain no separator. */
const serviceAccount =
  /^system:serviceaccount:([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?):([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)$/

/**
 * Exchanges a service-account token for a machine token.
 * @throws failure('bad_request') for an unknown role or a wrong token, with the same message for both;
 *   failure('forbidden') when the account is not on the lists of the role
 */
function logInByOrchestrator(
  context: OperationContext<MachineServices>,
  roleName: string,
  token: string,
): Promise<ReturnType<typeof machineAuth>> {
  const login = () => exchange(context, roleName, token)
  return countLogin(context.services.metrics, 'orchestrator', login, () => 'authenticated')
}

async function exchange(
  context: OperationContext<MachineServices>,
  roleName: string,
  token: string,
): Promise<ReturnType<typeof machineAuth>> {
  takeLogin(context)
  const { db, now } = context.services
  return retryOnGuard(5, async () => {
    const role = await findOrchestratorRole(db, roleName)
    if (role === undefined) {
      context.audit({ auth_method: 'orchestrator', reason: 'unknown_role' })
      throw wrongToken()
    }
    context.audit({ realm: role.realm, object: role.name, auth_method: 'orchestrator' })
    const account = await authenticateAccount(context, role, token)
    const entity = entityNames.account(role.realm, account.namespace, account.name)
    if (!allows(role.namespaces, account.namespace) || !allows(role.names, account.name)) {
      context.audit({ reason: 'account_not_allowed', details: { account: entity } })
      throw failure('forbidden', 'The service account is not allowed by this role.')
    }
    context.audit({ principal: entity })
    requireKnownAddress(context, role.tokenLimits.boundCidrs)
    if (!isWithin(role.tokenLimits.boundCidrs, context.request)) {
      context.audit({ reason: 'address_not_bound' })
      throw failure('forbidden', 'Tokens of this role are not permitted from this address.')
    }
    const issued = issueToken(
      {
        kind: 'orchestrator',
        name: role.name,
        realm: role.realm,
        policies: role.policies,
        tokenTtl: role.tokenTtl,
        limits: role.tokenLimits,
      },
      entity,
      now(),
    )
    await context.commit([orchestratorRoleUnchanged(role), issued.insertion])
    countTokens(context.services.metrics, 'issued')
    return machineAuth(issued.secret, true, issued.leaseDuration, role.policies, {
      role: role.name,
      service_account_name: account.name,
      service_account_namespace: account.namespace,
    })
  })
}

async function authenticateAccount(
  context: OperationContext<MachineServices>,
  role: OrchestratorRole,
  token: string,
): Promise<{ readonly namespace: string; readonly name: string }> {
  const { services, log } = context
  const audiences = role.boundAudiences ?? []
  const expected = {
    issuer: role.expectedIssuer,
    audience: audiences.length === 0 ? undefined : audiences,
    requiredClaims: ['sub', 'exp'],
    leewaySeconds,
    algorithms: serviceAccountAlgorithms,
  }
  try {
    const keys = services.providers.keySet(role.jwksUrl, refreshSeconds)
    const { claims } = await verifyToken(token, keys, expected, services.clock)
    const match = typeof claims.sub === 'string' ? serviceAccount.exec(claims.sub) : null
    if (match?.[1] !== undefined && match[3] !== undefined) return { namespace: match[1], name: match[3] }
  } catch (error) {
    if (!(error instanceof JwtRejected)) throw error
    log.info({ reason: error.message }, 'a service-account token was refused')
  }
  context.audit({ reason: 'invalid_token' })
  throw wrongToken()
}

const allows = (list: readonly string[], name: string): boolean => list.includes('*') || list.includes(name)

function wrongToken(): Error {
  return failure('bad_request', 'The role or the token is not valid.')
}

const define = defineOperation<MachineServices>()
type Context = OperationContext<MachineServices>

const common = { tag: 'Machines: orchestrator', errorShape: vaultErrors, bodyLimit: 64 * 1024 } as const
const defaultTokenTtl = 3600
/** Maximum retries of an update that conflicts with concurrent updates of the role. */
const maxTries = 20

const RoleFields = Type.Object({
  jwks_url: PlainText({ minLength: 1, maxLength: 2048 }),
  bound_service_account_names: Type.Optional(NameList),
  bound_service_account_namespaces: Type.Optional(NameList),
  token_ttl: Type.Optional(Duration),
  expected_issuer: Type.Optional(PlainText({ maxLength: 2048, description: 'Empty: not validated.' })),
  bound_audiences: Type.Optional(NameList),
  audience: Type.Optional(
    PlainText({ maxLength: 2048, description: "Vault's name for one of bound_audiences." }),
  ),
  token_policies: Type.Optional(NameList),
  policies: Type.Optional(Type.Union([NameList], { description: 'Deprecated name of token_policies.' })),
  alias_name_source: Type.Optional(
    Type.String({ maxLength: 64, description: 'serviceaccount_name: the entity is namespace and name.' }),
  ),
  ...tokenLimitMembers,
})
const Names = Type.Array(Type.String())
const RoleReply = Type.Object({
  jwks_url: Type.String(),
  bound_service_account_names: Names,
  bound_service_account_namespaces: Names,
  token_ttl: Type.Integer(),
  expected_issuer: Type.Optional(Type.String()),
  bound_audiences: Type.Optional(Names),
  token_policies: Type.Optional(Names),
  ...tokenLimitReply,
})

/** `audience` of Vault and `bound_audiences` are the same setting. @throws failure('bad_request') */
function readAudiences({
  audience = '',
  bound_audiences: bound,
}: Type.Static<typeof RoleFields>): readonly string[] | undefined {
  const audiences = bound === undefined ? undefined : readNameList('bound_audiences', bound)
  if (audience === '') return audiences
  if (audiences === undefined || audiences.length === 0) return [audience]
  if (audiences.length === 1 && audiences[0] === audience) return audiences
  throw failure('bad_request', 'audience: contradicts bound_audiences; send only one of them.')
}

/** Like Vault, an update changes only the members that the request contains. */
async function saveRole(
  context: Context,
  name: string,
  realmNamed: string | undefined,
  body: Type.Static<typeof RoleFields>,
): Promise<void> {
  requireHttps('jwks_url', body.jwks_url)
  const before = await findOrchestratorRole(context.services.db, name)
  if (before !== undefined) {
    await requireRole(context, before)
    requireRealmOfRole(before, realmNamed)
  }
  const policies = readNameList(
    'token_policies',
    body.token_policies ?? body.policies ?? before?.policies ?? [],
  )
  checkPolicyNames(policies)
  await requirePolicies(context, [...policies, ...(before?.policies ?? [])])
  if (!['', 'serviceaccount_name'].includes(body.alias_name_source ?? ''))
    throw failure('bad_request', 'alias_name_source: must be serviceaccount_name.')
  const realm = before?.realm ?? (await realmOfNewRole(context, realmNamed))
  const tokenTtl = body.token_ttl === undefined ? undefined : readDuration('token_ttl', body.token_ttl)
  const { bound_service_account_names: names, bound_service_account_namespaces: namespaces } = body
  const { expected_issuer: issuer = before?.expectedIssuer } = body
  const hasAudience = body.audience !== undefined || body.bound_audiences !== undefined
  const role = {
    name,
    realm,
    jwksUrl: body.jwks_url,
    names: readNameList('bound_service_account_names', names ?? before?.names ?? []),
    namespaces: readNameList('bound_service_account_namespaces', namespaces ?? before?.namespaces ?? []),
    tokenTtl: tokenTtl ?? before?.tokenTtl ?? defaultTokenTtl,
    expectedIssuer: issuer === '' ? undefined : issuer,
    boundAudiences: hasAudience ? readAudiences(body) : before?.boundAudiences,
    policies,
    tokenLimits: readTokenLimits(body, tokenTtl, before?.tokenLimits),
  }
  context.audit({ object: name, realm, details: { before: before ?? null, after: role } })
  try {
    await context.commit([realmExists(realm), ...orchestratorRoleUpsert(role, before)])
  } catch (error) {
    if (!(error instanceof GuardFailed) || error.index !== 0) throw error
    throw failure('bad_request', 'The realm of the role does not exist.')
  }
}

function showRole(role: OrchestratorRole) {
  const { expectedIssuer, boundAudiences } = role
  return {
    jwks_url: role.jwksUrl,
    bound_service_account_names: role.names,
    bound_service_account_namespaces: role.namespaces,
    token_ttl: role.tokenTtl,
    ...(expectedIssuer === undefined ? {} : { expected_issuer: expectedIssuer }),
    ...(boundAudiences === undefined ? {} : { bound_audiences: boundAudiences }),
    ...(role.policies.length > 0 && { token_policies: role.policies }),
    ...showTokenLimits(role.tokenLimits),
  }
}

export const orchestratorOperations = withAliases([
  define({
    ...common,
    anyContentType: true,
    name: 'orchestrator.login',
    reach: ['make session'],
    route: methods(['POST', 'PUT'], '/auth/orchestrator/login'),
    summary: 'Exchange a service-account token for a machine token',
    access: anyCaller,
    request: Type.Object({
      role: PlainText({ maxLength: 256 }),
      jwt: Type.String({ maxLength: 32 * 1024 }),
    }),
    reply: MachineAuthReply,
    errors: { 400: 'The role or the token is not valid.', 403: 'The service account is not allowed.' },
    act: ({ body }, context) => logInByOrchestrator(context, body.role, body.jwt),
  }),
  define({
    ...common,
    anyContentType: true,
    name: 'orchestrator.role.save',
    reach: ['make object', 'change settings'],
    route: methods(['POST', 'PUT'], '/auth/orchestrator/role/{name}'),
    summary: 'Create a role or update its settings',
    description:
      'An update changes only the members that it contains; 0 or an empty list removes a limit. Empty lists of names or namespaces allow no account.',
    access: roleAdmin,
    pathParameters: RolePath,
    queryParameters: RoleQuery,
    request: RoleFields,
    status: 204,
    errors: { 409: 'A role with this name exists in another realm.' },
    act: ({ path, query, body }, context) =>
      retryOnGuard(maxTries, () => saveRole(context, path.name, query.realm, body)),
  }),
  define({
    ...common,
    name: 'orchestrator.role.get',
    reach: ['reveal attributes'],
    route: get('/auth/orchestrator/role/{name}'),
    summary: 'The settings of a role',
    access: roleAdmin,
    pathParameters: RolePath,
    reply: Type.Object({ data: RoleReply }),
    errors: { 404: 'There is no such role.' },
    async act({ path }, context) {
      const role = await findOrchestratorRole(context.services.db, path.name)
      if (role === undefined) throw failure('not_found', 'There is no such role.')
      await requireRole(context, role)
      return { data: showRole(role) }
    },
  }),
  define({
    ...common,
    name: 'orchestrator.role.delete',
    reach: ['end object', 'end credential', 'end session'],
    route: del('/auth/orchestrator/role/{name}'),
    summary: 'Delete a role and its tokens',
    access: roleAdmin,
    pathParameters: Type.Object({ name: RoleName }),
    status: 204,
    async act({ path }, context) {
      const role = await findOrchestratorRole(context.services.db, path.name)
      context.audit({ object: path.name, details: { before: role ?? null } })
      if (role === undefined) return
      await requireRole(context, role)
      // Deletes the role first: a concurrent login either finds it gone, or the next statements find its
      // token.
      const { db, metrics, now } = context.services
      const results = await context.commit([
        orchestratorRoleRemoval(role),
        ...roleTokensEnd(db, 'orchestrator', role.name, now()),
        roleTokensRevocation('orchestrator', role.name),
      ])
      countTokens(metrics, 'revoked', results.at(-1)?.changes ?? 0)
    },
  }),
  define({
    ...common,
    name: 'orchestrator.role.list',
    reach: ['reveal existence'],
    route: list('/auth/orchestrator/role'),
    summary: 'Names of the roles that the caller administers',
    access: roleAdmin,
    queryParameters: RoleQuery,
    reply: Type.Object({ data: Type.Object({ keys: Type.Array(Type.String()) }) }),
    async act({ query }, context) {
      const powers = await requireRolePowers(context)
      const roles = await listOrchestratorRoles(context.services.db)
      const isInQueriedRealm = ({ realm }: { readonly realm: string }) => realm === (query.realm ?? realm)
      const own = roles.filter((role) => powers.administers(role.realm) && isInQueriedRealm(role))
      return { data: { keys: own.map(({ name }) => name) } }
    },
  }),
])
