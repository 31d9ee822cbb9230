import { failure } from '@warder/base'
import { toKeySpec } from '@warder/crypto'
import {
  countWrappedObjects,
  createAccess,
  findKeyInHsm,
  findObject,
  findWrappingWalk,
  type Hsm,
  listKeysInHsm,
  listMarkedForWrapping,
  type ObjectId,
  type RegistrableHsmKey,
  repeatWalk,
  requireHsm,
  requireHsmAdmin,
  requirePrincipal,
  signedIn,
  stageHsmRegistration,
  UnitOfWork,
} from '@warder/keys'
import { get, type Operation, type OperationContext, post } from '@warder/server'
import Type, { type Static } from 'typebox'
import { toKty } from './key-shape.ts'
import { Tags, userTags } from './key-tags.ts'
import { define, type RestServices } from './services.ts'

type Context = OperationContext<RestServices>

const tag = 'Keys'
const path = '/v1/crypto/hsms/{hsm}/keys'
const HsmPath = Type.Object({ hsm: Type.String({ description: 'Name of the HSM in the settings.' }) })
/** Keys of one reply. */
const pageSize = 100

const HsmKeyDescription = Type.Object({
  label: Type.String(),
  key_id: Type.String({ description: 'CKA_ID, hexadecimal; empty if the key has none.' }),
  class: Type.String({ description: 'secret or private' }),
  type: Type.String({
    description: 'AES, HMAC, RSA, EC, Ed25519, or unknown: such a key cannot be registered.',
  }),
  bits: Type.Optional(Type.Integer({ description: 'Of a secret key.' })),
  sensitive: Type.Boolean(),
  extractable: Type.Boolean(),
  never_extractable: Type.Boolean(),
  local: Type.Boolean({ description: 'Generated in the HSM.' }),
  kid: Type.Optional(Type.String({ description: 'The key of this service, if it is registered.' })),
})

/** Finds the HSM, and requires that the caller is one of its administrators. @throws Failure 400, 403 */
function readHsm(name: string, context: Context): Hsm {
  const hsm = requireHsm(context.services.keys.hsms, name)
  requireHsmAdmin(hsm, requirePrincipal(context).name)
  return hsm
}

/** `GET /v1/crypto/hsms/{hsm}/keys`: the keys in an HSM, those of other programs as well. */
const listKeysOfHsm = define({
  name: 'crypto.hsms.keys.list',
  reach: ['reveal attributes'],
  route: get(path),
  summary: 'List the keys in an HSM, for one of its administrators',
  tag,
  access: signedIn,
  pathParameters: HsmPath,
  queryParameters: Type.Object({
    from: Type.Optional(
      Type.String({ pattern: '^[0-9]{1,6}$', description: 'Position of the first key; default 0.' }),
    ),
  }),
  reply: Type.Object({
    keys: Type.Array(HsmKeyDescription),
    total: Type.Integer({ description: `Number of keys; a reply contains at most ${pageSize}.` }),
  }),
  errors: { 403: 'The caller is no administrator of the HSM.' },
  async act({ path: { hsm: name }, query: { from = '0' } }, context) {
    const hsm = readHsm(name, context)
    const all = await listKeysInHsm(hsm, context.services.db)
    const first = Number(from)
    return { keys: all.slice(first, first + pageSize).map(formatKey), total: all.length }
  },
})

function formatKey({
  kind,
  algorithm,
  attributes,
  objectId,
}: Awaited<ReturnType<typeof listKeysInHsm>>[number]): Static<typeof HsmKeyDescription> {
  const { label, id, valueBytes } = attributes
  return {
    ...{ label, key_id: id, class: kind, type: algorithm ?? 'unknown' },
    ...(kind === 'secret' && valueBytes !== undefined && { bits: valueBytes * 8 }),
    sensitive: attributes.sensitive === true,
    extractable: attributes.extractable !== false,
    never_extractable: attributes.neverExtractable === true,
    local: attributes.local === true,
    ...(objectId !== undefined && { kid: objectId }),
  }
}

const RegisterRequest = Type.Object({
  label: Type.String({ maxLength: 256, description: 'CKA_LABEL of the key.' }),
  key_id: Type.Optional(
    Type.String({
      pattern: '^([0-9a-f]{2}){1,128}$',
      description: 'CKA_ID, hexadecimal; required if several keys have the label.',
    }),
  ),
  class: Type.Optional(
    Type.String({ description: 'secret or private; required if a secret and a private key have the label.' }),
  ),
  alg: Type.Optional(
    Type.String({
      description: 'The only permitted algorithm of the key. Default: every algorithm of its type.',
    }),
  ),
  tags: Type.Optional(Tags),
})

/** `POST /v1/crypto/hsms/{hsm}/keys`: an existing key of an HSM becomes one of this service. */
const registerKeyOfHsm = define({
  name: 'crypto.hsms.keys.register',
  reach: ['make object'],
  route: post(path),
  summary: 'Register a key that exists in an HSM, for one of its administrators',
  description:
    'The key stays in the HSM. From then on the service uses it like its other keys, and removes it from the HSM when it is destroyed.',
  tag,
  access: createAccess<RestServices>(),
  pathParameters: HsmPath,
  request: RegisterRequest,
  reply: Type.Object({
    kid: Type.String(),
    kid_public: Type.Optional(Type.String()),
    kty: Type.String(),
    hardware: Type.Boolean({
      description:
        'The HSM reports that the key was generated in it, always sensitive and never extractable.',
    }),
  }),
  errors: {
    403: 'The caller may not create keys, or is no administrator of the HSM.',
    409: 'The key is registered already.',
    422: 'The HSM has no such key, or one that cannot be used here.',
  },
  async act({ path: { hsm: name }, body }, context) {
    const { services } = context
    const hsm = readHsm(name, context)
    const { label, key_id: id } = body
    const found = await findKeyInHsm(hsm, { label, ...(id !== undefined && { id }), kind: readClass(body) })
    const boundAlg = readAlg(body.alg, found, services)
    const now = services.clock.now()
    const tags = userTags(body.tags ?? [])
    const objects = new UnitOfWork(services, now)
    const key = { owner: requirePrincipal(context).name, boundAlg, now, tags }
    const [object, open] = await stageHsmRegistration(objects, services, { hsm, found }, key)
    context.audit({
      object: object.id,
      algorithm: boundAlg ?? found.algorithm,
      details: { origin: 'registered', hsm: hsm.name, ...(open !== undefined && { linked: open.id }) },
    })
    await objects.commit(context.commit)
    return {
      kid: object.id,
      ...(open !== undefined && { kid_public: open.id }),
      kty: toKty(found.algorithm),
      hardware: found.made.form.hardware,
    }
  },
})

/** @throws failure('bad_request') */
function readClass({ class: kind }: Static<typeof RegisterRequest>): RegistrableHsmKey['kind'] | undefined {
  if (kind !== undefined && kind !== 'secret' && kind !== 'private')
    throw failure('bad_request', 'class: must be secret or private')
  return kind
}

/** The algorithm that the key is bound to. @throws Failure for one that does not fit the key */
function readAlg(
  alg: string | undefined,
  { algorithm, curve, bits }: RegistrableHsmKey,
  { policy }: RestServices,
): string | undefined {
  if (alg === undefined) return undefined
  const spec = toKeySpec({ kty: toKty(algorithm), alg, crv: curve, bits }, policy)
  if (spec.algorithm !== algorithm || ('bits' in spec && spec.bits !== bits))
    throw failure('bad_request', `alg: ${alg} does not fit this key, ${algorithm} with ${bits} bits.`)
  return spec.alg
}

const wrappingPath = '/v1/crypto/hsms/{hsm}/wrapping'
/** Wrapping keys and changed keys that one reply counts. */
const maxCounted = 1000

const WrappingReply = Type.Object({
  rules: Type.Array(
    Type.Object({ key: Type.String(), tags: Type.Array(Type.String()), owners: Type.Array(Type.String()) }),
    { description: 'Tables of hsm_wrapping with a key in this HSM; key_encryption_key is the last one.' },
  ),
  keys: Type.Array(
    Type.Object({
      kid: Type.String({ description: 'Version of a wrapping key.' }),
      objects: Type.Integer({ description: 'Objects whose material it wraps.' }),
    }),
  ),
  waiting: Type.Integer({
    description: `Keys whose tags or owner changed, and which have to be checked; at most ${maxCounted}.`,
  }),
  check: Type.Optional(
    Type.Object(
      {
        state: Type.String({ description: 'running or finished' }),
        checked: Type.Integer(),
        rewrapped: Type.Integer(),
        failed: Type.Integer({ description: 'Objects that could not be wrapped as the settings require.' }),
        started_at: Type.String({ description: 'RFC 3339, UTC.' }),
        finished_at: Type.Optional(Type.String({ description: 'RFC 3339, UTC.' })),
      },
      { description: 'The last check of all objects, of all HSMs.' },
    ),
  ),
})

async function formatWrapping(
  { name }: Hsm,
  { db, keys }: RestServices,
): Promise<Static<typeof WrappingReply>> {
  const rules = (keys.hsms?.wrapping.rules ?? []).filter(({ key }) => key.startsWith(`hsm::${name}::`))
  const counted: { kid: string; objects: number }[] = []
  for (const { key, objects } of await countWrappedObjects(db, maxCounted)) {
    const object = await findObject(db, key as ObjectId)
    if (object?.form.hsm?.name === name) counted.push({ kid: key, objects })
  }
  const walk = await findWrappingWalk(db)
  const end = walk?.finished_at
  return {
    rules: rules.map(({ key, tags, owners }) => ({ key, tags: [...tags], owners: [...owners] })),
    keys: counted,
    waiting: (await listMarkedForWrapping(db, maxCounted)).length,
    ...(walk !== undefined && {
      check: {
        state: end ? 'finished' : 'running',
        ...{ checked: walk.checked, rewrapped: walk.rewrapped, failed: walk.failed },
        started_at: new Date(walk.started_at).toISOString(),
        ...(end && { finished_at: new Date(end).toISOString() }),
      },
    }),
  }
}

/** `GET /v1/crypto/hsms/{hsm}/wrapping`: what keys of an HSM wrap in the database. */
const getWrapping = define({
  name: 'crypto.hsms.wrapping.get',
  reach: ['reveal attributes'],
  route: get(wrappingPath),
  summary: 'Objects that keys of an HSM wrap, for one of its administrators',
  tag,
  access: signedIn,
  pathParameters: HsmPath,
  reply: WrappingReply,
  errors: { 403: 'The caller is no administrator of the HSM.' },
  act: ({ path: { hsm } }, context) => formatWrapping(readHsm(hsm, context), context.services),
})

/** `POST /v1/crypto/hsms/{hsm}/wrapping`: checks all objects again. */
const checkWrapping = define({
  name: 'crypto.hsms.wrapping.check',
  reach: [],
  route: post(wrappingPath),
  summary: 'Check the wrapping of all objects again, for one administrator of the HSM',
  description:
    'Objects that are not wrapped as the settings require are rewrapped in the background, also those that failed before.',
  tag,
  access: signedIn,
  pathParameters: HsmPath,
  reply: WrappingReply,
  errors: { 403: 'The caller is no administrator of the HSM.' },
  async act({ path: { hsm: name } }, context) {
    const hsm = readHsm(name, context)
    await context.commit([repeatWalk()])
    return formatWrapping(hsm, context.services)
  },
})

export const hsmOperations: readonly Operation<RestServices>[] = [
  listKeysOfHsm,
  registerKeyOfHsm,
  getWrapping,
  checkWrapping,
]
