import { randomUUID } from 'node:crypto'
import { failure } from '@warder/base'
import { defineOperation, list, methods, type Operation, type OperationContext } from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import Type from 'typebox'
import { PlainText } from '../texts.ts'
import {
  type AppRole,
  appRoleUnchanged,
  findAppRole,
  findSecretId,
  findSecretIdByAccessor,
  type SecretId,
  secretIdAccessors,
  secretIdDestruction,
  secretIdInsertion,
} from './approle-store.ts'
import { areSubset, Count, Duration, NameList, readCidrs, readCount, readDuration } from './limits.ts'
import { RolePath, RoleQuery, requirePolicies, requireRole, roleAdmin } from './role-name.ts'
import { type MachineServices, vaultErrors } from './tokens.ts'

const define = defineOperation<MachineServices>()
type Context = OperationContext<MachineServices>

const common = {
  tag: 'Machines: AppRole',
  errorShape: vaultErrors,
  bodyLimit: 64 * 1024,
  anyContentType: true,
  access: roleAdmin,
  pathParameters: RolePath,
  queryParameters: RoleQuery,
} as const
const Text = Type.String()
const Accessor = PlainText({ maxLength: 256 })
const noRole = { 404: 'There is no such role.' }

const SecretIdFields = Type.Object({
  ttl: Type.Optional(
    Type.Union([Duration], {
      description: 'At most secret_id_ttl of the role, which is the default if this is absent or 0.',
    }),
  ),
  num_uses: Type.Optional(Count),
  cidr_list: Type.Optional(
    Type.Union([NameList], {
      description: 'Address blocks from which the SecretID may be used, within those of the role.',
    }),
  ),
  token_bound_cidrs: Type.Optional(
    Type.Union([NameList], { description: 'Address blocks of its tokens, within those of the role.' }),
  ),
  metadata: Type.Optional(
    Type.String({ maxLength: 4096, description: 'Not supported: must be empty or {}.' }),
  ),
})
const ByAccessor = Type.Object({ secret_id_accessor: Accessor })
const ByAccessorOrValue = Type.Object({
  secret_id_accessor: Type.Optional(Accessor),
  secret_id: Type.Optional(Type.String({ maxLength: 256, description: 'The SecretID.' })),
})
const SecretIdReply = Type.Object({
  data: Type.Object({
    secret_id_accessor: Text,
    secret_id_num_uses: Type.Integer({ description: 'Remaining uses; 0 = unlimited.' }),
    expiration_time: Type.Integer({ description: 'Unix seconds; 0 = never.' }),
    cidr_list: Type.Optional(Type.Array(Text)),
    token_bound_cidrs: Type.Optional(Type.Array(Text)),
  }),
})

/** @throws failure('not_found' | 'forbidden') */
export async function ownRole(context: Context, name: string): Promise<AppRole> {
  const role = await findAppRole(context.services.db, name)
  const realm = context.request.query.get('realm') ?? role?.realm
  if (role === undefined || role.realm !== realm) throw failure('not_found', 'There is no such role.')
  await requireRole(context, role)
  context.audit({ object: name, realm: role.realm })
  return role
}

/** Finds a role whose identity the caller may assume: the holder of its role id and a secret id has its policies. */
export async function roleToHold(context: Context, name: string): Promise<AppRole> {
  const role = await ownRole(context, name)
  await requirePolicies(context, role.policies)
  return role
}

/** Creates a secret id. The value is random, returned once, and stored as a hash. */
async function newSecretId(context: Context, name: string, body: Type.Static<typeof SecretIdFields>) {
  const role = await roleToHold(context, name)
  const now = context.services.now()
  const ttl = readDuration('ttl', body.ttl ?? 0) || role.secretIdTtl
  if (role.secretIdTtl > 0 && ttl > role.secretIdTtl)
    throw failure('bad_request', 'ttl: cannot be longer than secret_id_ttl of the role.')
  if (!/^\s*(?:\{\s*\})?\s*$/.test(body.metadata ?? ''))
    throw failure('bad_request', 'metadata: is not supported; omit it, or send {}.')
  const maxUses = role.secretIdLimits.numUses
  const uses = readCount(body.num_uses ?? maxUses)
  if (maxUses > 0 && (uses === 0 || uses > maxUses))
    throw failure('bad_request', 'num_uses: cannot be higher than secret_id_num_uses of the role.')
  const boundCidrs = blocksWithin('cidr_list', body.cidr_list, role.secretIdLimits.boundCidrs)
  const tokenBoundCidrs = blocksWithin(
    'token_bound_cidrs',
    body.token_bound_cidrs,
    role.tokenLimits.boundCidrs,
  )
  const [value, accessor] = [randomUUID(), randomUUID()]
  const expiresAt = ttl === 0 ? 0 : now + ttl
  const usesLeft = uses || -1
  const secret = { accessor, roleName: role.name, expiresAt, usesLeft, boundCidrs, tokenBoundCidrs }
  context.audit({ details: { secret_id_accessor: accessor, expires_at: expiresAt, uses: usesLeft } })
  await context.commit([appRoleUnchanged(role), secretIdInsertion(secret, value, now)])
  return { data: { secret_id: value, secret_id_accessor: accessor } }
}

/** @throws failure('bad_request') for address blocks outside of those of the role */
function blocksWithin(
  member: string,
  value: Type.Static<typeof NameList> | undefined,
  ofRole: readonly string[],
): readonly string[] {
  const blocks = readCidrs(member, value)
  if (areSubset(blocks, ofRole)) return blocks
  throw failure('bad_request', `${member}: must be within the address blocks of the role.`)
}

/** Does nothing when there is no such secret id of the role. */
async function destroy(
  context: Context,
  name: string,
  body: Type.Static<typeof ByAccessorOrValue>,
): Promise<void> {
  const role = await ownRole(context, name)
  const { secret_id: value } = body
  const found = value === undefined ? undefined : await findSecretId(context.services.db, value)
  const accessor = body.secret_id_accessor ?? found?.accessor
  if (body.secret_id_accessor === undefined && value === undefined) {
    throw failure('bad_request', 'Invalid request body: secret_id_accessor: is required.')
  }
  if (accessor === undefined) return
  context.audit({ details: { secret_id_accessor: accessor } })
  await context.commit([secretIdDestruction(accessor, role.name)])
}

/** Describes a secret id of this role without its value. @throws failure('not_found') */
function describeSecretId(
  role: AppRole,
  found: SecretId | undefined,
  now: number,
): Type.Static<typeof SecretIdReply> {
  const usable =
    found !== undefined &&
    found.roleName === role.name &&
    found.usesLeft !== 0 &&
    (found.expiresAt === 0 || found.expiresAt > now)
  if (!usable) throw failure('not_found', 'This role has no such SecretID.')
  return {
    data: {
      secret_id_accessor: found.accessor,
      secret_id_num_uses: Math.max(0, found.usesLeft),
      expiration_time: found.expiresAt,
      ...(found.boundCidrs.length > 0 && { cidr_list: [...found.boundCidrs] }),
      ...(found.tokenBoundCidrs.length > 0 && { token_bound_cidrs: [...found.tokenBoundCidrs] }),
    },
  }
}

/** Operations on the secret ids of a role, under the paths of this interface and those of Vault clients. */
export const secretIdOperations: readonly Operation<MachineServices>[] = [
  define({
    ...common,
    bodyOptional: true,
    name: 'approle.secret_id.create',
    reach: ['make credential'],
    route: methods(['POST', 'PUT'], '/auth/approle/role/{name}/secret-id'),
    summary: 'Create a secret id; its value is returned once',
    request: SecretIdFields,
    reply: Type.Object({ data: Type.Object({ secret_id: Text, secret_id_accessor: Text }) }),
    errors: noRole,
    act: ({ path, body }, context) => retryOnGuard(5, () => newSecretId(context, path.name, body ?? {})),
  }),
  define({
    ...common,
    name: 'approle.secret_id.list',
    reach: ['reveal existence'],
    route: list('/auth/approle/role/{name}/secret-id'),
    summary: 'Accessors of the usable SecretIDs of a role, at most a thousand',
    reply: Type.Object({ data: Type.Object({ keys: Type.Array(Text) }) }),
    errors: noRole,
    async act({ path }, context) {
      const role = await ownRole(context, path.name)
      const { db, now } = context.services
      return { data: { keys: await secretIdAccessors(db, role.name, now()) } }
    },
  }),
  define({
    ...common,
    name: 'approle.secret_id.lookup',
    reach: ['reveal attributes'],
    route: methods(['POST', 'PUT'], '/auth/approle/role/{name}/secret-id/lookup'),
    summary: 'Properties of a SecretID',
    request: Type.Object({ secret_id: Type.String({ maxLength: 256 }) }),
    reply: SecretIdReply,
    errors: { 404: 'There is no such role or SecretID.' },
    async act({ path, body }, context) {
      const role = await ownRole(context, path.name)
      return describeSecretId(
        role,
        await findSecretId(context.services.db, body.secret_id),
        context.services.now(),
      )
    },
  }),
  define({
    ...common,
    name: 'approle.secret_id.destroy',
    reach: ['end credential'],
    route: methods(['POST', 'PUT'], '/auth/approle/role/{name}/secret-id/destroy'),
    summary: 'Destroy a SecretID of this role, by its accessor or its value',
    request: ByAccessorOrValue,
    status: 204,
    errors: noRole,
    act: ({ path, body }, context) => destroy(context, path.name, body),
  }),
  define({
    ...common,
    name: 'approle.secret_id_accessor.lookup',
    reach: ['reveal attributes'],
    route: methods(['POST', 'PUT'], '/auth/approle/role/{name}/secret-id-accessor/lookup'),
    summary: 'Properties of a SecretID, by its accessor',
    request: ByAccessor,
    reply: SecretIdReply,
    errors: { 404: 'There is no such role or SecretID.' },
    async act({ path, body }, context) {
      const role = await ownRole(context, path.name)
      const found = await findSecretIdByAccessor(context.services.db, body.secret_id_accessor)
      return describeSecretId(role, found, context.services.now())
    },
  }),
  define({
    ...common,
    name: 'approle.secret_id_accessor.destroy',
    reach: ['end credential'],
    route: methods(['POST', 'PUT'], '/auth/approle/role/{name}/secret-id-accessor/destroy'),
    summary: 'Destroy a SecretID of this role, by its accessor',
    request: ByAccessor,
    status: 204,
    errors: noRole,
    act: ({ path, body }, context) => destroy(context, path.name, body),
  }),
]
