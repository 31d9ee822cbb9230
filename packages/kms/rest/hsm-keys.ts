import { failure } from '@warder/base'
import {
  type KeyMaterial,
  keyFacts,
  type MaterialAlgorithm,
  requirePermitted,
  toKeySpec,
} from '@warder/crypto'
import {
  createAccess,
  describeHsmKey,
  findHsmCurve,
  findObject,
  type Hsm,
  type HsmKeyMaterial,
  type HsmMaterial,
  insertHsmKey,
  listHsmKeys,
  newKeyObjects,
  newObjectId,
  onHsm,
  requireHsm,
  requireHsmAdmin,
  requirePrincipal,
  signedIn,
  stageNew,
  toHsmHalves,
  toHsmTarget,
  toUsageMask,
  UnitOfWork,
} from '@warder/keys'
import { type KeyAttributes, keyTypes, TokenError } from '@warder/pkcs11'
import { get, type Operation, type OperationContext, post } from '@warder/server'
import Type, { type Static } from 'typebox'
import { toKty } from './key-shape.ts'
import { Tags, userTags } from './key-tags.ts'
import { define, type RestServices } from './services.ts'

type Context = OperationContext<RestServices>
type Kind = 'secret' | 'private'

const tag = 'Keys'
const path = '/v1/crypto/hsms/{hsm}/keys'
const HsmPath = Type.Object({ hsm: Type.String({ description: 'Name of the HSM in the settings.' }) })
/** Keys of one reply. */
const pageSize = 100
/** Keys of an HSM that the service has; more are not shown with their objects. */
const maxKnown = 100_000

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

/** The HSM, for one of its administrators. @throws Failure 400, 403 */
function readHsm(name: string, context: Context): Hsm {
  const hsm = requireHsm(context.services.keys.hsms, name)
  requireHsmAdmin(hsm, requirePrincipal(context).name)
  return hsm
}

/** CKK_… of HMAC keys beside the generic ones (Current Mechanisms 3.0 §2.20). */
const hmacTypes: ReadonlySet<number> = new Set([keyTypes.generic, 0x28, 0x2b, 0x2c, 0x2d, 0x2e])

function toType({ keyType }: KeyAttributes): 'AES' | 'HMAC' | 'RSA' | 'EC' | 'Ed25519' | 'unknown' {
  if (keyType === undefined) return 'unknown'
  if (keyType === keyTypes.AES) return 'AES'
  if (hmacTypes.has(keyType)) return 'HMAC'
  if (keyType === keyTypes.RSA) return 'RSA'
  return keyType === keyTypes.EC ? 'EC' : keyType === keyTypes.OKP ? 'Ed25519' : 'unknown'
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
    const [secret, pairs, known] = await onHsm(hsm.name, () =>
      Promise.all([
        hsm.token.listKeys('secret'),
        hsm.token.listKeys('private'),
        listHsmKeys(context.services.db, hsm.name, maxKnown),
      ]),
    )
    const objects = new Map(
      known.map((row) => [
        `${row.class} ${row.key_id} ${row.label}`,
        row.due_at === null ? row.object_id : undefined,
      ]),
    )
    const all = [
      ...secret.map((key) => formatKey('secret', key)),
      ...pairs.map((key) => formatKey('private', key)),
    ].toSorted((one, other) => (toOrder(one) < toOrder(other) ? -1 : 1))
    const page = all.slice(Number(from), Number(from) + pageSize)
    return {
      keys: page.map((key) => {
        const kid = objects.get(`${key.class} ${key.key_id} ${key.label}`)
        return kid === undefined ? key : { ...key, kid }
      }),
      total: all.length,
    }
  },
})

function toOrder({ label, class: kind, key_id }: Static<typeof HsmKeyDescription>): string {
  return JSON.stringify([label, kind, key_id])
}

function formatKey(kind: Kind, key: KeyAttributes): Static<typeof HsmKeyDescription> {
  return {
    ...{ label: key.label ?? '', key_id: key.id ?? '', class: kind, type: toType(key) },
    ...(kind === 'secret' && key.valueBytes !== undefined && { bits: key.valueBytes * 8 }),
    sensitive: key.sensitive === true,
    extractable: key.extractable !== false,
    never_extractable: key.neverExtractable === true,
    local: key.local === true,
  }
}

const RegisterRequest = Type.Object({
  label: Type.String({ maxLength: 256, description: 'CKA_LABEL of the key.' }),
  key_id: Type.Optional(
    Type.String({
      pattern: '^([0-9a-f]{2}){1,128}$',
      description: 'CKA_ID, hexadecimal, if several keys have the label.',
    }),
  ),
  class: Type.Optional(Type.String({ description: 'secret or private, if both have the label.' })),
  alg: Type.Optional(Type.String({ description: 'The key is bound to it. Default: to none.' })),
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
    const { kind, attributes } = await findKey(hsm, body)
    const made = await onHsm(hsm.name, () => describeHsmKey(hsm, kind, attributes))
    const found = describeAlgorithm(attributes, made)
    const boundAlg = readAlg(body.alg, found, services)
    const now = services.clock.now()
    const target = toHsmTarget(hsm, attributes.label === '' ? attributes.id : attributes.label)
    if ((await findObject(services.db, target.id)) !== undefined)
      throw failure('conflict', `${target.id} is registered already.`)
    const halves = toHsmHalves(made, { kind, ...found }, target, (half) => toUsageMask(half, boundAlg))
    const [{ material }] = halves
    requirePermitted(services.policy, keyFacts(material as KeyMaterial | HsmMaterial))
    const tags = userTags(body.tags ?? [])
    const key = { owner: requirePrincipal(context).name, boundAlg, now }
    const objects = new UnitOfWork(services, now)
    const wanted = halves.map((half) => ({ ...half, tags })) as unknown as Parameters<typeof newKeyObjects>[1]
    const [object, open] = await stageNew(objects, services, key, newKeyObjects(key, wanted))
    objects.also(
      insertHsmKey({
        ...{ id: newObjectId(now), object_id: target.id, hsm: hsm.name, class: kind, due_at: null },
        ...{ label: attributes.label, key_id: attributes.id },
      }),
    )
    context.audit({
      object: target.id,
      algorithm: boundAlg ?? found.algorithm,
      details: { origin: 'registered', hsm: hsm.name, ...(open !== undefined && { linked: open.id }) },
    })
    await objects.commit(context.commit)
    return {
      kid: object?.id ?? target.id,
      ...(open !== undefined && { kid_public: open.id }),
      kty: toKty(found.algorithm),
      hardware: made.form.hardware,
    }
  },
})

interface FoundKey {
  readonly kind: Kind
  readonly attributes: KeyAttributes & { readonly label: string; readonly id: string }
}

/** @throws Failure 400 when secret and private keys have the label, 422 when none has */
async function findKey(hsm: Hsm, wanted: Static<typeof RegisterRequest>): Promise<FoundKey> {
  const { label, key_id: id, class: only } = wanted
  if (only !== undefined && only !== 'secret' && only !== 'private')
    throw failure('bad_request', 'class: must be secret or private')
  const kinds = only === undefined ? (['secret', 'private'] as const) : ([only] as const)
  const found: FoundKey[] = []
  for (const kind of kinds) {
    const attributes = await onHsm(hsm.name, () =>
      readAttributes(hsm, kind, { label, ...(id !== undefined && { id }) }),
    )
    if (attributes !== undefined)
      found.push({
        kind,
        attributes: { ...attributes, label: attributes.label ?? '', id: attributes.id ?? '' },
      })
  }
  const [first, second] = found
  if (first === undefined)
    throw failure('crypto_failure', `The HSM ${hsm.name} has no secret or private key with this label.`)
  if (second !== undefined)
    throw failure('bad_request', 'class: is required, because a secret and a private key have this label.')
  return first
}

async function readAttributes(
  { token }: Hsm,
  kind: Kind,
  key: { readonly label: string; readonly id?: string },
): Promise<KeyAttributes | undefined> {
  try {
    return await token.attributes(kind, key)
  } catch (error) {
    if (error instanceof TokenError && error.code === 'key_not_found') return undefined
    throw error
  }
}

/** @throws failure('unsupported_algorithm') */
function describeAlgorithm(
  attributes: KeyAttributes,
  { publicKey, bits }: HsmKeyMaterial,
): { readonly algorithm: MaterialAlgorithm; readonly curve: string | undefined; readonly bits: number } {
  const algorithm = toType(attributes)
  const curve = publicKey === undefined ? undefined : findHsmCurve(publicKey)
  if (algorithm === 'unknown' || (algorithm === 'EC' && curve === undefined) || bits === 0)
    throw failure(
      'unsupported_algorithm',
      'Keys for AES, HMAC, RSA, EC on P-256, P-384 and P-521, and Ed25519 can be registered.',
    )
  return { algorithm, curve, bits }
}

/** The algorithm that the key is bound to. @throws Failure for one that does not fit the key */
function readAlg(
  alg: string | undefined,
  { algorithm, curve, bits }: ReturnType<typeof describeAlgorithm>,
  { policy }: RestServices,
): string | undefined {
  if (alg === undefined) return undefined
  const spec = toKeySpec({ kty: toKty(algorithm), alg, crv: curve, bits }, policy)
  if (spec.algorithm !== algorithm || ('bits' in spec && spec.bits !== bits))
    throw failure('bad_request', `alg: ${alg} does not fit this key, ${algorithm} with ${bits} bits.`)
  return spec.alg
}

export const hsmOperations: readonly Operation<RestServices>[] = [listKeysOfHsm, registerKeyOfHsm]
