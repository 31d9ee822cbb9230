import {
  getChainId,
  isLaterVersion,
  type Key,
  keyRight,
  type ManagedObject,
  newestVersion,
  versionNumber,
} from '@warder/keys'
import { get } from '@warder/server'
import { StorageUnavailable } from '@warder/storage'
import Type from 'typebox'
import { formatOps, toCrv, toExt, toKty } from './key-shape.ts'
import { formatTags } from './key-tags.ts'
import { formatDates, lifeMembers } from './life-shape.ts'
import { toPublicJwk } from './public-jwk.ts'
import { define, type RestServices } from './services.ts'

const access = keyRight<RestServices, string>('getattributes', {
  read: ({ path: { kid } }) => kid ?? '',
  kid: (kid) => kid,
})

const KeyDescription = Type.Object({
  kid: Type.String(),
  object_type: Type.String(),
  kty: Type.String(),
  alg: Type.Optional(Type.String()),
  crv: Type.Optional(Type.String()),
  bits: Type.Optional(Type.Integer()),
  key_ops: Type.Array(Type.String()),
  ext: Type.Optional(
    Type.Boolean({
      description:
        'For a secret or private key. false: no user can export its bytes in clear, not even over KMIP.',
    }),
  ),
  hsm: Type.Optional(
    Type.String({ description: 'Name of the HSM that has the key; its value is not on this server.' }),
  ),
  hardware: Type.Optional(
    Type.Boolean({
      description:
        'For a key in an HSM. true: the HSM reported that the key was generated in it, has always been sensitive and has never been extractable.',
    }),
  ),
  wrapping_key: Type.Optional(
    Type.String({
      description: 'Version of a key in an HSM that wraps the secret material of this key in the database.',
    }),
  ),
  state: Type.String(),
  owner: Type.String(),
  linked_kid: Type.Optional(Type.String({ description: 'The other half of a pair.' })),
  version: Type.Integer({
    description: 'The current version, or the named one; 1 = never rotated.',
  }),
  version_kid: Type.Optional(Type.String({ description: 'Id of the version, if the key was rotated.' })),
  version_of: Type.Optional(Type.String({ description: 'If a version was named: its key.' })),
  rotated_at: Type.Optional(Type.String({ description: 'Creation time of that version; RFC 3339, UTC.' })),
  tags: Type.Array(Type.String()),
  created_at: Type.String({ description: 'RFC 3339, UTC.' }),
  ...lifeMembers,
  destruction_days: Type.Optional(
    Type.Integer({
      description:
        'Days for which its destruction would wait, by the settings. Absent: it is destroyed at once.',
    }),
  ),
  approvals: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Operations on it that require the approval of crypto officers: destroy, export, grant.',
    }),
  ),
  public_jwk: Type.Optional(Type.Record(Type.String(), Type.String())),
  abe: Type.Optional(
    Type.Object({
      kind: Type.String({ description: 'master, public or user' }),
      digest: Type.String({ description: 'SHA-256 of the key, base64url.' }),
      policy: Type.Optional(Type.String({ description: 'For a user key: its policy.' })),
      master: Type.Optional(Type.String({ description: 'For a user key that this service created.' })),
    }),
  ),
})

/** Facts about an attribute-based key; the id of its next attribute stays inside the service. */
function formatAbe({ form }: ManagedObject) {
  if (form.abe === undefined) return {}
  const { nextAttributeId: _ours, formerNames: _names, ...abe } = form.abe
  return { abe }
}

/** `GET /v1/crypto/keys/{kid}`: the attributes of a key, and its public half. Never anything secret. */
export const getKey = define({
  name: 'crypto.keys.get',
  reach: ['reveal attributes', 'reveal public'],
  route: get('/v1/crypto/keys/{kid}'),
  summary: 'Attributes of a key, with its public key',
  tag: 'Keys',
  access,
  pathParameters: Type.Object({ kid: Type.String() }),
  reply: KeyDescription,
  errors: { 403: 'The caller has no right to read attributes.', 404: 'No such key.' },
  async act(_input, context) {
    const { key: named } = access.resolved(context)
    const { object: whole } = named
    // For a rotated key the version that protects now: its state, its public half.
    const key = await newestVersion(context.services.keys, named)
    const { object } = key
    const crv = toCrv(object)
    const ext = toExt(object)
    const jwk = formatJwk(key)
    return {
      kid: whole.id,
      object_type: object.type,
      kty: toKty(object.algorithm),
      ...(object.boundAlg !== undefined && { alg: object.boundAlg }),
      ...(crv !== undefined && { crv }),
      ...(object.bits !== undefined && { bits: object.bits }),
      key_ops: [...formatOps(object)],
      ...(ext !== undefined && { ext }),
      ...(object.form.hsm !== undefined && {
        hsm: object.form.hsm.name,
        hardware: object.form.hsm.hardware,
      }),
      ...(object.wrappingKey !== undefined && { wrapping_key: object.wrappingKey }),
      state: key.state,
      owner: object.owner,
      ...(whole.linkedId !== undefined && { linked_kid: whole.linkedId }),
      version: versionNumber(object),
      ...(object.chainId !== undefined && { version_kid: object.id }),
      ...(isLaterVersion(whole) && { version_of: whole.chainId }),
      ...(object.generation > 0 && { rotated_at: new Date(object.createdAt).toISOString() }),
      tags: await formatTags(context.services, getChainId(object)),
      created_at: new Date(whole.createdAt).toISOString(),
      ...formatDates(object),
      ...(await formatPolicies(context.services, whole)),
      ...(jwk !== undefined && { public_jwk: jwk }),
      ...formatAbe(object),
    }
  },
})

/** What the settings say about a destruction, an export or a grant. */
async function formatPolicies({ roles }: Pick<RestServices, 'roles'>, object: ManagedObject) {
  const days = object.destroyedAt === undefined ? await roles.destructions.daysOf(object) : 0
  const approvals: string[] = []
  for (const operation of ['destroy', 'export', 'grant'] as const)
    if (await roles.approvals.covers(operation, object)) approvals.push(operation)
  return {
    ...(days > 0 && { destruction_days: days }),
    ...(approvals.length > 0 && { approvals }),
  }
}

/** undefined also for a public half without a JOSE format or that cannot be loaded; the rest is still returned. */
function formatJwk(key: Key) {
  try {
    return toPublicJwk(key, 'any')
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error
    return undefined
  }
}
