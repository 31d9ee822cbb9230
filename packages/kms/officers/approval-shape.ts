import { failure } from '@warder/base'
import {
  type ApprovalRequest,
  approvableOnObjects,
  approvalsAmong,
  askable,
  asObjectId,
  findObject,
  findRequest,
  hashRequest,
  ownAliasesOfMany,
  requirePrincipal,
  votersAmong,
  votesOn,
} from '@warder/keys'
import type { OperationContext } from '@warder/server'
import Type, { type Static } from 'typebox'
import type { OfficerServices } from './services.ts'
import { formatSettings, Settings } from './settings-shape.ts'

export type Context = OperationContext<OfficerServices>
export const tag = 'Approvals'
export const attempts = 10

/** An empty reason is none. */
export const Reason = Type.String({
  maxLength: 1024,
  description: 'Why; for the officers and the requester.',
})
export const toReason = (reason: string | undefined): { readonly reason?: string } =>
  reason === undefined || reason.trim() === '' ? {} : { reason }

/** A request for approval, as it is returned. */
export const Request = Type.Object({
  id: Type.String(),
  hash: Type.String({
    description: 'SHA-256 of the request: officers send it when they decide.',
  }),
  operation: Type.Enum([...askable]),
  key: Type.String({
    description:
      'The key; for other operations the store, the officer, the digest of the settings, root_key, or the SHA-256 of the backup file.',
  }),
  key_names: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'In replies of `GET`: the names of the key, of KMIP and the aliases of its owner; for officers and the owner. Absent if ' +
        'the key has been removed.',
    }),
  ),
  settings: Type.Optional(Settings),
  user_id: Type.Optional(Type.String()),
  operation_types: Type.Optional(Type.Array(Type.String())),
  wrapping_key: Type.Optional(
    Type.String({
      description: 'For an export: the key that must wrap the material. Absent: any form is permitted.',
    }),
  ),
  uri_prefix: Type.Optional(Type.String({ description: 'For an access key: path of its key store.' })),
  region: Type.Optional(Type.String({ description: 'For an access key: its AWS region.' })),
  restore: Type.Optional(
    Type.Object(
      { made_at: Type.String(), restored_at: Type.String() },
      { description: 'For a restored backup.' },
    ),
  ),
  reason: Type.Optional(Type.String({ description: 'Why, in the words of the requester.' })),
  requester: Type.String({ description: 'A user; `.` means a start of the service.' }),
  state: Type.String({ description: 'open, approved, done, refused, withdrawn, void or expired.' }),
  needed: Type.Integer({ description: 'Number of required approvals.' }),
  approved_by: Type.Array(Type.String()),
  refused_by: Type.Array(Type.String()),
  refusal_reasons: Type.Optional(
    Type.Array(Type.Object({ user: Type.String(), reason: Type.String() }), {
      description: 'Of the officers who gave one.',
    }),
  ),
  created_at: Type.String(),
  until: Type.String(),
})

async function formatRequest(context: Context, request: ApprovalRequest): Promise<Static<typeof Request>> {
  const { db, seal, roles, clock } = context.services
  const { wish, state } = request
  const votes = await votesOn(db, seal, wish.id)
  const voters = await votersAmong(db, roles.officers, clock.now())
  const running = state === 'open' || state === 'approved'
  const refusals = votes.filter(({ approves }) => !approves)
  const reasons = refusals.flatMap(({ user, reason }) => (reason === undefined ? [] : [{ user, reason }]))
  return {
    id: wish.id,
    hash: hashRequest(wish),
    operation: wish.operation,
    key: wish.object,
    ...(wish.settings !== undefined && { settings: formatSettings(wish.settings) }),
    ...(wish.user !== undefined && { user_id: wish.user }),
    ...(wish.rights !== undefined && { operation_types: [...wish.rights] }),
    ...(wish.wrappedBy !== undefined && { wrapping_key: wish.wrappedBy }),
    ...(wish.credential !== undefined && {
      uri_prefix: wish.credential.uriPrefix,
      region: wish.credential.region,
    }),
    ...(wish.restore !== undefined && {
      restore: {
        made_at: new Date(wish.restore.madeAt).toISOString(),
        restored_at: new Date(wish.restore.restoredAt).toISOString(),
      },
    }),
    ...toReason(wish.reason),
    requester: wish.requester,
    state: running && wish.until <= clock.now() ? 'expired' : state,
    needed: roles.officers.quorum,
    approved_by: [...approvalsAmong(votes, wish, voters, roles.approvals)],
    refused_by: refusals.map(({ user }) => user),
    ...(reasons.length > 0 && { refusal_reasons: reasons }),
    created_at: new Date(wish.createdAt).toISOString(),
    until: new Date(wish.until).toISOString(),
  }
}

/** Adds the names of the key, for callers who may list it. */
export async function formatWithNames(
  context: Context,
  request: ApprovalRequest,
): Promise<Static<typeof Request>> {
  const formatted = await formatRequest(context, request)
  const { db, roles } = context.services
  const { name } = requirePrincipal(context)
  const { operation, object: id } = request.wish
  const keyId = approvableOnObjects.some((one) => one === operation) ? asObjectId(id) : undefined
  const key = keyId === undefined ? undefined : await findObject(db, keyId)
  if (key === undefined || (key.owner !== name && !roles.officers.listed.has(name))) return formatted
  const aliases = (await ownAliasesOfMany(db, [key])).get(key.id) ?? []
  return { ...formatted, key_names: [...key.names.map((each) => each.name), ...aliases] }
}

export const PathId = Type.Object({ id: Type.String({ maxLength: 64 }) })

/** A request that the caller may see. @throws failure('not_found') */
export async function visible(context: Context, id: string): Promise<ApprovalRequest> {
  const { db, seal, roles } = context.services
  const { name } = requirePrincipal(context)
  const request = await findRequest(db, seal, id)
  if (request === undefined || (request.wish.requester !== name && !roles.officers.listed.has(name)))
    throw failure('not_found', 'There is no such request.')
  context.audit({ object: request.wish.object, details: { request: id, operation: request.wish.operation } })
  return request
}

/** Returns the request after a step and notifies the operator's webhook of it. */
export async function notifyOfficers(
  context: Context,
  event: string,
  request: ApprovalRequest,
): Promise<Static<typeof Request>> {
  const { notices, publicUrl } = context.services
  const after = await formatRequest(context, request)
  const link = publicUrl === undefined ? {} : { link: `${publicUrl}/ui/approvals/${after.id}` }
  await notices?.tell(event, { by: requirePrincipal(context).name, ...link, request: after })
  return after
}
