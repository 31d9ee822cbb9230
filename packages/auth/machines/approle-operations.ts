import { randomUUID } from 'node:crypto'
import { failure } from '@warder/base'
import { defineOperation, del, get, list, methods, type OperationContext } from '@warder/server'
import { GuardFailed, retryOnGuard } from '@warder/storage'
import Type from 'typebox'
import { anyCaller } from '../callers.ts'
import { countLogin, countTokens } from '../counting.ts'
import { takeLogin } from '../login/throttle-login.ts'
import { realmExists } from '../realms/realm-store.ts'
import { PlainText } from '../texts.ts'
import {
  type AppRole,
  appRoleRemoval,
  appRoleUnchanged,
  appRoleUpsert,
  findAppRole,
  findAppRoleById,
  findSecretId,
  listAppRoles,
  roleSecretIdsDestruction,
  type SecretId,
  secretIdUse,
} from './approle-store.ts'
import {
  areSubset,
  Duration,
  Flag,
  isWithin,
  NameList,
  readDuration,
  readFlag,
  readNameList,
  readSecretIdLimits,
  readTokenLimits,
  requireKnownAddress,
  secretIdLimitMembers,
  secretIdLimitReply,
  showSecretIdLimits,
  showTokenLimits,
  tokenLimitMembers,
  tokenLimitReply,
} from './limits.ts'
import {
  checkPolicyNames,
  RolePath,
  RoleQuery,
  realmOfNewRole,
  requirePolicies,
  requireRealmOfRole,
  requireRole,
  requireRolePowers,
  roleAdmin,
} from './role-name.ts'
import { ownRole, roleToHold, secretIdOperations } from './secret-id-operations.ts'
import { appRoleEnd, entityNames, roleTokensRevocation } from './token-store.ts'
import {
  issueToken,
  MachineAuthReply,
  type MachineServices,
  machineAuth,
  vaultErrors,
  withAliases,
} from './tokens.ts'

type Context = OperationContext<MachineServices>

/** Maximum retries of a commit that conflicts with concurrent uses of the same secret id. */
const tries = 200

/**
 * Exchanges a role id and a secret id for a token. One commit consumes the secret id and issues the token.
 * @throws failure('bad_request') for a wrong id, always with the same message; failure('forbidden') for an exhausted
 *   secret id
 */
function logInByAppRole(
  context: Context,
  roleId: string,
  secret: string | undefined,
): Promise<ReturnType<typeof machineAuth>> {
  const login = () => exchange(context, roleId, secret)
  return countLogin(context.services.metrics, 'approle', login, () => 'authenticated')
}

async function exchange(
  context: Context,
  roleId: string,
  secret: string | undefined,
): Promise<ReturnType<typeof machineAuth>> {
  takeLogin(context)
  const { db, now } = context.services
  return retryOnGuard(tries, async () => {
    const role = await findAppRoleById(db, roleId)
    if (role === undefined) {
      context.audit({ auth_method: 'approle', reason: 'wrong_role_id' })
      throw wrongIds()
    }
    context.audit({ principal: role.name, auth_method: 'approle', realm: role.realm, object: role.name })
    const used = role.bindSecretId ? await usableSecretId(context, role, secret) : undefined
    const boundCidrs = requireAddress(context, role, used)
    const issued = issueToken(
      {
        kind: 'approle',
        name: role.name,
        realm: role.realm,
        policies: role.policies,
        tokenTtl: role.tokenTtl,
        limits: { ...role.tokenLimits, boundCidrs },
      },
      entityNames.appRole(role.realm, role.name),
      now(),
    )
    const use = used === undefined ? [] : [secretIdUse(used, now())]
    if (used !== undefined) context.audit({ details: { secret_id_accessor: used.accessor } })
    await context.commit([appRoleUnchanged(role), ...use, issued.insertion])
    countTokens(context.services.metrics, 'issued')
    return machineAuth(issued.secret, true, issued.leaseDuration, role.policies, { role_name: role.name })
  })
}

async function usableSecretId(context: Context, role: AppRole, value: string | undefined): Promise<SecretId> {
  const { db, now } = context.services
  const secret = value === undefined ? undefined : await findSecretId(db, value)
  const known =
    secret !== undefined &&
    secret.roleName === role.name &&
    (secret.expiresAt === 0 || secret.expiresAt > now())
  if (!known) {
    context.audit({ principal: 'unauthenticated', reason: 'wrong_secret_id' })
    throw wrongIds()
  }
  if (secret.usesLeft === 0) {
    context.audit({ principal: 'unauthenticated', reason: 'exhausted_secret_id' })
    throw failure('forbidden', 'The SecretID has no uses left.')
  }
  return secret
}

/**
 * A client with valid ids learns that its address is refused; the refusal does not count as a use of the secret id.
 * @returns the address blocks of the token
 * @throws failure('forbidden')
 */
function requireAddress(context: Context, role: AppRole, secret: SecretId | undefined): readonly string[] {
  const { request } = context
  const refuse = (reason: string, sentence: string): Error => {
    context.audit({ reason })
    return failure('forbidden', sentence)
  }
  const [login, token] = [role.secretIdLimits.boundCidrs, role.tokenLimits.boundCidrs]
  const { boundCidrs = [], tokenBoundCidrs = [] } = secret ?? {}
  if (!areSubset(boundCidrs, login) || !areSubset(tokenBoundCidrs, token))
    throw refuse(
      'secret_id_outside_role',
      'The address blocks of the SecretID are not within those of its role.',
    )
  requireKnownAddress(context, login, token, boundCidrs, tokenBoundCidrs)
  if (!isWithin(login, request) || !isWithin(boundCidrs, request))
    throw refuse('address_not_bound', 'The SecretID is not permitted from this address.')
  const blocks = tokenBoundCidrs.length > 0 ? tokenBoundCidrs : token
  if (!isWithin(blocks, request))
    throw refuse('address_not_bound', 'Tokens of this role are not permitted from this address.')
  return blocks
}

function wrongIds(): Error {
  return failure('bad_request', 'The RoleID or the SecretID is invalid.')
}

const define = defineOperation<MachineServices>()

const common = { tag: 'Machines: AppRole', errorShape: vaultErrors, bodyLimit: 64 * 1024 } as const
const roleOperation = {
  ...common,
  access: roleAdmin,
  pathParameters: RolePath,
  queryParameters: RoleQuery,
} as const
const bodies = { bodyOptional: true, anyContentType: true } as const
const Text = Type.String()
const defaultTokenTtl = 3600
const maxPolicies = 256
/** Maximum retries of an update that conflicts with concurrent updates of the role. */
const maxTries = 20

const RoleFields = Type.Object({
  token_ttl: Type.Optional(Duration),
  secret_id_ttl: Type.Optional(Duration),
  token_policies: Type.Optional(NameList),
  policies: Type.Optional(Type.Union([NameList], { description: 'Deprecated name of token_policies.' })),
  bind_secret_id: Type.Optional(Flag),
  ...secretIdLimitMembers,
  ...tokenLimitMembers,
})

/** Like Vault, an update changes only the members that the request contains. */
async function saveRole(
  context: Context,
  name: string,
  realmNamed: string | undefined,
  body: Type.Static<typeof RoleFields>,
): Promise<void> {
  const before = await findAppRole(context.services.db, name)
  if (before !== undefined) {
    await requireRole(context, before)
    requireRealmOfRole(before, realmNamed)
  }
  const policies = readNameList(
    'token_policies',
    body.token_policies ?? body.policies ?? before?.policies ?? [],
  )
  if (policies.length > maxPolicies)
    throw failure('bad_request', `token_policies: must have at most ${maxPolicies} items.`)
  checkPolicyNames(policies)
  await requirePolicies(context, [...policies, ...(before?.policies ?? [])])
  const realm = before?.realm ?? (await realmOfNewRole(context, realmNamed))
  const tokenTtl = body.token_ttl === undefined ? undefined : readDuration('token_ttl', body.token_ttl)
  const role = {
    name,
    roleId: before?.roleId ?? randomUUID(),
    realm,
    tokenTtl: tokenTtl ?? before?.tokenTtl ?? defaultTokenTtl,
    secretIdTtl: readDuration('secret_id_ttl', body.secret_id_ttl ?? before?.secretIdTtl ?? 0),
    policies,
    bindSecretId: readFlag(body.bind_secret_id ?? before?.bindSecretId ?? true),
    secretIdLimits: readSecretIdLimits(body, before?.secretIdLimits),
    tokenLimits: readTokenLimits(body, tokenTtl, before?.tokenLimits),
  }
  context.audit({ object: name, realm, details: { before: before ?? null, after: role } })
  try {
    await context.commit([realmExists(realm), ...appRoleUpsert(role, before)])
  } catch (error) {
    if (!(error instanceof GuardFailed) || error.index !== 0) throw error
    throw failure('bad_request', 'The realm of the role does not exist.')
  }
}

export const appRoleOperations = withAliases([
  define({
    ...common,
    ...bodies,
    bodyOptional: false,
    name: 'approle.login',
    reach: ['make session'],
    route: methods(['POST', 'PUT'], '/auth/approle/login'),
    summary: 'Exchange a RoleID and a SecretID for a token',
    access: anyCaller,
    request: Type.Object({
      role_id: PlainText({ maxLength: 256 }),
      secret_id: Type.Optional(Type.Union([Type.String({ maxLength: 256 }), Type.Null()])),
    }),
    reply: MachineAuthReply,
    errors: { 400: 'The RoleID or the SecretID is invalid.', 403: 'The SecretID has no uses left.' },
    act: ({ body }, context) => logInByAppRole(context, body.role_id, body.secret_id ?? undefined),
  }),
  define({
    ...roleOperation,
    ...bodies,
    name: 'approle.role.save',
    reach: ['make object', 'change settings'],
    route: methods(['POST', 'PUT'], '/auth/approle/role/{name}'),
    summary: 'Create a role or update its settings',
    description:
      'An update changes only the members that it contains, as in Vault; 0 or an empty list removes a limit. The RoleID, the SecretIDs and the tokens stay valid.',
    request: RoleFields,
    status: 204,
    errors: { 409: 'A role with this name exists in another realm.' },
    act: ({ path, query, body }, context) =>
      retryOnGuard(maxTries, () => saveRole(context, path.name, query.realm, body ?? {})),
  }),
  define({
    ...roleOperation,
    name: 'approle.role.get',
    reach: ['reveal attributes'],
    route: get('/auth/approle/role/{name}'),
    summary: 'The settings of a role',
    reply: Type.Object({
      data: Type.Object({
        token_ttl: Type.Integer(),
        secret_id_ttl: Type.Integer(),
        token_policies: Type.Array(Text),
        bind_secret_id: Type.Boolean(),
        ...secretIdLimitReply,
        ...tokenLimitReply,
      }),
      realm: Type.String({ description: 'Realm of the role.' }),
    }),
    errors: { 404: 'There is no such role.' },
    async act({ path }, context) {
      const found = await ownRole(context, path.name)
      return {
        data: {
          token_ttl: found.tokenTtl,
          secret_id_ttl: found.secretIdTtl,
          token_policies: found.policies,
          bind_secret_id: found.bindSecretId,
          ...showSecretIdLimits(found.secretIdLimits),
          ...showTokenLimits(found.tokenLimits),
        },
        realm: found.realm,
      }
    },
  }),
  define({
    ...roleOperation,
    name: 'approle.role.role_id',
    reach: ['reveal attributes'],
    route: get('/auth/approle/role/{name}/role-id'),
    summary: 'The RoleID of a role',
    reply: Type.Object({ data: Type.Object({ role_id: Text }) }),
    errors: { 404: 'There is no such role.' },
    act: async ({ path }, context) => ({ data: { role_id: (await roleToHold(context, path.name)).roleId } }),
  }),
  ...secretIdOperations,
  define({
    ...roleOperation,
    name: 'approle.role.delete',
    reach: ['end object', 'end credential', 'end session'],
    route: del('/auth/approle/role/{name}'),
    summary: 'Delete a role, its secret ids and its tokens',
    status: 204,
    async act({ path, query }, context) {
      const before = await findAppRole(context.services.db, path.name)
      context.audit({ object: path.name, details: { before: before ?? null } })
      if (before === undefined) return
      await requireRole(context, before)
      requireRealmOfRole(before, query.realm)
      // Deletes the role first: a concurrent login either finds it gone, or the next statements find its
      // token.
      const { db, metrics, now } = context.services
      const results = await context.commit([
        appRoleRemoval(before),
        roleSecretIdsDestruction(before.name),
        ...appRoleEnd(db, before, now()),
        roleTokensRevocation('approle', before.name),
      ])
      countTokens(metrics, 'revoked', results.at(-1)?.changes ?? 0)
    },
  }),
  define({
    ...common,
    access: roleAdmin,
    queryParameters: RoleQuery,
    name: 'approle.role.list',
    reach: ['reveal existence'],
    route: list('/auth/approle/role'),
    summary: 'Names of the roles that the caller administers',
    reply: Type.Object({ data: Type.Object({ keys: Type.Array(Text) }) }),
    async act({ query }, context) {
      const powers = await requireRolePowers(context)
      const roles = await listAppRoles(context.services.db)
      const isInQueriedRealm = ({ realm }: { readonly realm: string }) => realm === (query.realm ?? realm)
      const own = roles.filter((role) => powers.administers(role.realm) && isInQueriedRealm(role))
      return { data: { keys: own.map(({ name }) => name) } }
    },
  }),
])
