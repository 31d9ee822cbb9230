import { randomUUID } from 'node:crypto'
import { failure } from '@warder/foundation/errors'
import { defineOperation, del, get, methods, type OperationContext } from '@warder/foundation/operations'
import { GuardFailed, retryOnGuard } from '@warder/foundation/sql'
import Type from 'typebox'
import { anyAdmin, everybody, powersOfCaller } from '../callers.ts'
import { countTokens } from '../counting/index.ts'
import { PlainText } from '../plain-text.ts'
import { realmExists } from '../realms/index.ts'
import type { AuthServices } from '../services.ts'
import { logInByAppRole } from './approle-login.ts'
import {
  type AppRole,
  appRoleRemoval,
  appRoleUnchanged,
  appRoleUpsert,
  findAppRole,
  listAppRoles,
} from './approle-store.ts'
import { MachineAuthReply, withAliases } from './auth-reply.ts'
import {
  checkPolicyNames,
  RolePath,
  RoleQuery,
  realmOfNewRole,
  requirePolicies,
  requireRealmOfRole,
  requireRole,
  Seconds,
} from './role-name.ts'
import { roleSecretIdsDestruction, secretIdDestruction, secretIdInsertion } from './secret-id-store.ts'
import { roleTokensRevocation } from './tokens.ts'

const define = defineOperation<AuthServices>()
type Context = OperationContext<AuthServices>

const common = { tag: 'Machines: AppRole', errorShape: 'vault', bodyLimit: 64 * 1024 } as const
const access = { ...anyAdmin, name: 'super administrator, or administrator of the realm of the role' }
const bodies = { bodyOptional: true, anyContentType: true } as const
const Text = Type.String()
const defaultTokenTtl = 3600

const RoleFields = Type.Object({
  token_ttl: Type.Optional(Seconds),
  secret_id_ttl: Type.Optional(Seconds),
  token_policies: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 256 })),
  bind_secret_id: Type.Optional(Type.Boolean()),
})
const SecretIdFields = Type.Object({
  ttl: Type.Optional(Seconds),
  num_uses: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000 })),
})

/** @throws failure('not_found' | 'forbidden') */
async function ownRole(context: Context, name: string): Promise<AppRole> {
  const role = await findAppRole(context.services.db, name)
  if (role === undefined) throw failure('not_found', 'There is no such role.')
  await requireRole(context, role)
  context.audit({ object: name, realm: role.realm })
  return role
}

/** A role whose holder the caller may become: whoever gets its role id and a secret id has its policies. */
async function roleToHold(context: Context, name: string): Promise<AppRole> {
  const role = await ownRole(context, name)
  await requirePolicies(context, role.policies)
  return role
}

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
  const policies = body.token_policies ?? []
  checkPolicyNames(policies)
  await requirePolicies(context, [...policies, ...(before?.policies ?? [])])
  const realm = before?.realm ?? (await realmOfNewRole(context, realmNamed))
  const role = {
    name,
    roleId: before?.roleId ?? randomUUID(),
    realm,
    tokenTtl: body.token_ttl ?? defaultTokenTtl,
    secretIdTtl: body.secret_id_ttl ?? 0,
    policies,
    bindSecretId: body.bind_secret_id ?? true,
  }
  context.audit({ object: name, realm, details: { before: before ?? null, after: role } })
  try {
    await context.commit([realmExists(realm), appRoleUpsert(role)])
  } catch (error) {
    if (!(error instanceof GuardFailed)) throw error
    if (error.index === 0) throw failure('bad_request', 'The realm of the role does not exist.')
    throw failure('conflict', 'A role with this name exists in another realm.')
  }
}

/** The value is random, shown once and kept as a hash. */
async function newSecretId(context: Context, name: string, body: Type.Static<typeof SecretIdFields>) {
  const role = await roleToHold(context, name)
  const now = context.services.now()
  const ttl = body.ttl || role.secretIdTtl
  const [value, accessor] = [randomUUID(), randomUUID()]
  const expiresAt = ttl === 0 ? 0 : now + ttl
  const usesLeft = body.num_uses || -1
  context.audit({ details: { secret_id_accessor: accessor, expires_at: expiresAt, uses: usesLeft } })
  await context.commit([
    appRoleUnchanged(role),
    secretIdInsertion({ accessor, roleName: role.name, expiresAt, usesLeft }, value, now),
  ])
  return { data: { secret_id: value, secret_id_accessor: accessor } }
}

export const appRoleOperations = withAliases([
  define({
    ...common,
    ...bodies,
    bodyOptional: false,
    name: 'approle.login',
    route: methods(['POST', 'PUT'], '/auth/approle/login'),
    summary: 'Exchange a role id and a secret id for a token',
    access: everybody,
    request: Type.Object({
      role_id: PlainText({ maxLength: 256 }),
      secret_id: Type.Optional(Type.Union([Type.String({ maxLength: 256 }), Type.Null()])),
    }),
    reply: MachineAuthReply,
    errors: { 400: 'The role id or the secret id is not valid.', 403: 'The secret id has been used up.' },
    act: ({ body }, context) => logInByAppRole(context, body.role_id, body.secret_id ?? undefined),
  }),
  define({
    ...common,
    ...bodies,
    name: 'approle.role.save',
    route: methods(['POST', 'PUT'], '/auth/approle/role/{name}'),
    summary: 'Create a role, or replace its settings',
    description: 'An update keeps the role id, the secret ids and the tokens.',
    access,
    pathParameters: RolePath,
    queryParameters: RoleQuery,
    request: RoleFields,
    status: 204,
    errors: { 409: 'A role with this name exists in another realm.' },
    act: ({ path, query, body }, context) => saveRole(context, path.name, query.realm, body ?? {}),
  }),
  define({
    ...common,
    name: 'approle.role.get',
    route: get('/auth/approle/role/{name}'),
    summary: 'The settings of a role',
    access,
    pathParameters: RolePath,
    reply: Type.Object({
      data: Type.Object({
        token_ttl: Type.Integer(),
        secret_id_ttl: Type.Integer(),
        token_policies: Type.Array(Text),
        bind_secret_id: Type.Boolean(),
      }),
    }),
    errors: { 404: 'There is no such role.' },
    async act({ path }, context) {
      const role = await ownRole(context, path.name)
      return {
        data: {
          token_ttl: role.tokenTtl,
          secret_id_ttl: role.secretIdTtl,
          token_policies: role.policies,
          bind_secret_id: role.bindSecretId,
        },
      }
    },
  }),
  define({
    ...common,
    name: 'approle.role.role_id',
    route: get('/auth/approle/role/{name}/role-id'),
    summary: 'The role id of a role',
    access,
    pathParameters: RolePath,
    reply: Type.Object({ data: Type.Object({ role_id: Text }) }),
    errors: { 404: 'There is no such role.' },
    act: async ({ path }, context) => ({ data: { role_id: (await roleToHold(context, path.name)).roleId } }),
  }),
  define({
    ...common,
    ...bodies,
    name: 'approle.secret_id.create',
    route: methods(['POST', 'PUT'], '/auth/approle/role/{name}/secret-id'),
    summary: 'A new secret id; it is shown once',
    access,
    pathParameters: RolePath,
    request: SecretIdFields,
    reply: Type.Object({ data: Type.Object({ secret_id: Text, secret_id_accessor: Text }) }),
    errors: { 404: 'There is no such role.' },
    act: ({ path, body }, context) => retryOnGuard(5, () => newSecretId(context, path.name, body ?? {})),
  }),
  define({
    ...common,
    ...bodies,
    bodyOptional: false,
    name: 'approle.secret_id.destroy',
    route: methods(['POST', 'PUT'], '/auth/approle/role/{name}/secret-id/destroy'),
    summary: 'Destroy a secret id of this role by its accessor',
    access,
    pathParameters: RolePath,
    request: Type.Object({ secret_id_accessor: PlainText({ maxLength: 256 }) }),
    status: 204,
    errors: { 404: 'There is no such role.' },
    async act({ path, body }, context) {
      const role = await ownRole(context, path.name)
      context.audit({ details: { secret_id_accessor: body.secret_id_accessor } })
      await context.commit([secretIdDestruction(body.secret_id_accessor, role.name)])
    },
  }),
  define({
    ...common,
    name: 'approle.role.delete',
    route: del('/auth/approle/role/{name}'),
    summary: 'Delete a role, its secret ids and its tokens',
    access,
    pathParameters: RolePath,
    status: 204,
    async act({ path }, context) {
      const role = await findAppRole(context.services.db, path.name)
      context.audit({ object: path.name, details: { before: role ?? null } })
      if (role === undefined) return
      await requireRole(context, role)
      // The role first: a login that runs beside this finds it gone, or its token is seen by what follows.
      const [, , revoked] = await context.commit([
        appRoleRemoval(role),
        roleSecretIdsDestruction(role.name),
        roleTokensRevocation('approle', role.name),
      ])
      countTokens(context.services.metrics, 'revoked', revoked?.changes ?? 0)
    },
  }),
  define({
    ...common,
    name: 'approle.role.list',
    route: get('/auth/approle/role'),
    summary: 'Names of the roles that the caller administers',
    access,
    queryParameters: RoleQuery,
    reply: Type.Object({ data: Type.Object({ keys: Type.Array(Text) }) }),
    async act({ query }, context) {
      const powers = await powersOfCaller(context)
      const roles = await listAppRoles(context.services.db)
      const named = ({ realm }: { readonly realm: string }) => realm === (query.realm ?? realm)
      const own = roles.filter((role) => powers.administers(role.realm) && named(role))
      return { data: { keys: own.map(({ name }) => name) } }
    },
  }),
])
