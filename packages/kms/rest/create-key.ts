import { failure } from '@warder/base'
import {
  decodeBase64Url,
  type GeneratedKey,
  generateKey,
  type ImportMembers,
  importKey,
  type KeyMaterial,
  type KeySpec,
  keyFacts,
  type MaterialMember,
  materialMembers,
  requirePermitted,
  toKeySpec,
} from '@warder/crypto'
import {
  createAccess,
  createHsmHalves,
  type Extractability,
  encrypts,
  findHsmTarget,
  findObject,
  type HsmTarget,
  hsmPrefix,
  maxTags,
  type NewHalf,
  newKeyObjects,
  requirePrincipal,
  stageNew,
  toUsageMask,
  UnitOfWork,
} from '@warder/keys'
import { type OperationContext, post } from '@warder/server'
import Type, { type Static } from 'typebox'
import { abe, abeMembers, createAbeKey } from './abe-keys.ts'
import { jwkNameMembers, jwkUseMembers, requireNoJwkMembers, toUsageLimit } from './jwk-uses.ts'
import { jwksTag } from './jwks.ts'
import { Ext, KeyReply, opsWithin, toCrv, toExtractability, toKty } from './key-shape.ts'
import { Tags, userTags } from './key-tags.ts'
import { define, type RestServices } from './services.ts'

const maxMemberLength = 16_384
/** A mask that removes no use. */
const unlimited = -1
const Member = Type.Optional(Type.String({ maxLength: maxMemberLength, description: 'base64url' }))

/** One of them makes the request an import. */
const materialProperties = Object.fromEntries(materialMembers.map((name) => [name, Member])) as Readonly<
  Record<MaterialMember, typeof Member>
>

export const KeyRequest = Type.Object({
  kty: Type.String({ description: 'oct, RSA, EC, OKP, AKP or ABE' }),
  alg: Type.Optional(Type.String({ description: 'The key is bound to it. Required for oct.' })),
  crv: Type.Optional(Type.String({ description: 'P-256, P-384, P-521, Ed25519 or X25519' })),
  bits: Type.Optional(
    Type.Integer({
      description: 'RSA: 2048 to 8192, default 2048. For an import or another type: the size of the key.',
    }),
  ),
  tags: Type.Optional(Tags),
  ext: Ext,
  hsm: Type.Optional(
    Type.String({
      description:
        'Name of an HSM of the settings. The key is generated in this HSM and never leaves it. Alternatively, set kid to an identifier hsm::NAME::LABEL.',
    }),
  ),
  ...jwkUseMembers,
  ...jwkNameMembers,
  ...materialProperties,
  ...abeMembers,
})
export type KeyRequest = Static<typeof KeyRequest>

/**
 * The key material of an import, as bytes; undefined if the request contains none: then a key is generated.
 * Public members alone are an import too, of a key that lacks its private half, and are refused as such: a
 * new key in place of the caller's own would be worse than an error.
 */
function readMembers(body: KeyRequest): ImportMembers | undefined {
  const given = materialMembers.filter((name) => body[name] !== undefined)
  if (given.length === 0) return undefined
  const members: Record<string, Uint8Array> = {}
  for (const name of given) members[name] = decodeBase64Url(body[name] ?? '', name)
  return members
}

/** Attribute-based keys are imported over KMIP. @throws failure('bad_request') */
function requireNoMaterial(body: KeyRequest): void {
  const given =
    materialMembers.find((name) => body[name] !== undefined) ?? (body.crv === undefined ? undefined : 'crv')
  if (given !== undefined) throw failure('bad_request', `${given}: has no meaning for a key of kty ABE.`)
}

/** @throws failure('bad_request') for members of attribute-based keys */
function requireNotAbe(body: KeyRequest): void {
  for (const name of ['access_structure', 'master', 'policy'] as const)
    if (body[name] !== undefined) throw failure('bad_request', `${name}: is for keys of kty ABE.`)
}

/** Refuses `bits` that do not match: the caller is wrong about the key's strength. @throws failure('bad_request') */
function requireBits({ bits }: KeyRequest, material: Pick<KeyMaterial, 'algorithm' | 'bits'>): void {
  if (bits === undefined || toKty(material.algorithm) === 'AKP' || bits === material.bits) return
  throw failure('bad_request', `bits: this key has ${material.bits}, not ${bits}`)
}

function listHalves(
  made: GeneratedKey | KeyMaterial,
  alg: string | undefined,
  tags: readonly string[],
  publicTags: readonly string[],
  secret: Extractability | undefined,
  limit: number,
): readonly [NewHalf] | readonly [NewHalf, NewHalf] {
  const half = (material: KeyMaterial, more: readonly string[]): NewHalf => ({
    material,
    usageMask: toUsageMask(material, alg) & limit,
    tags: [...new Set([...tags, ...more])],
    ...(material.kind !== 'public' && secret !== undefined && { extractability: secret }),
  })
  if ('kind' in made) return [half(made, [])]
  if ('secret' in made) return [half(made.secret, [])]
  return [half(made.private, []), half(made.public, publicTags)]
}

/** Generated signing pairs are published, unless configured otherwise. */
function readPublicTags(spec: KeySpec, services: StageKeyServices): readonly string[] {
  return services.tagSigningPairs && !encrypts(spec.algorithm, spec.alg) ? [jwksTag] : []
}

async function makeMaterial(spec: KeySpec, body: KeyRequest): Promise<GeneratedKey | KeyMaterial> {
  const members = readMembers(body)
  if (members === undefined) return generateKey(spec)
  try {
    return importKey(spec, members)
  } finally {
    for (const bytes of Object.values(members)) bytes?.fill(0)
  }
}

type StageKeyServices = Pick<RestServices, 'db' | 'policy' | 'tagSigningPairs' | 'keys'>

/** Finds the HSM in which a request creates its key; undefined: the key is not created in an HSM. @throws Failure */
function readHsmTarget(
  body: KeyRequest,
  context: OperationContext<StageKeyServices>,
  now: number,
): HsmTarget | undefined {
  const { kid, hsm } = body
  const isNamed = typeof kid === 'string' && kid.startsWith(hsmPrefix)
  if (!isNamed && hsm === undefined) return undefined
  const given = materialMembers.find((name) => body[name] !== undefined)
  if (given !== undefined)
    throw failure('bad_request', `${given}: a key in an HSM is generated there, and cannot be imported.`)
  requireNoJwkMembers(isNamed ? { ...body, kid: undefined } : body)
  const wanted = { id: isNamed ? kid : undefined, hsm }
  return findHsmTarget(context.services.keys.hsms, wanted, requirePrincipal(context).name, now)
}

/** Generates the key in the HSM; its objects are staged like those of other keys. */
async function stageHsmKey(
  body: KeyRequest,
  {
    spec,
    tags,
    target,
  }: { readonly spec: KeySpec; readonly tags: readonly string[]; readonly target: HsmTarget },
  context: OperationContext<StageKeyServices>,
  objects: UnitOfWork,
  now: number,
) {
  const { services } = context
  if (body.ext === true)
    throw failure('bad_request', 'ext: a key in an HSM cannot be exported; omit it, or set it to false.')
  if ('bits' in spec && body.bits !== undefined && body.bits !== spec.bits)
    throw failure('bad_request', `bits: this key has ${spec.bits}, not ${body.bits}`)
  const publicTags = readPublicTags(spec, services)
  if (tags.length + publicTags.length > maxTags) throw tooManyTags()
  await requireUnusedId(services, target)
  const mask = (half: Parameters<typeof toUsageMask>[0]) => toUsageMask(half, spec.alg)
  const { algorithm } = spec
  const size = {
    bits: 'bits' in spec ? spec.bits : undefined,
    curve: 'curve' in spec ? spec.curve : undefined,
  }
  const made = await createHsmHalves(objects, services, target, { algorithm, ...size, mask }, now)
  const [first, second] = made
  const halves = [first, second].flatMap((half, index) =>
    half === undefined
      ? []
      : [{ ...half, tags: [...new Set([...tags, ...(index === 0 ? [] : publicTags)])] }],
  ) as readonly NewHalf[] as readonly [NewHalf] | readonly [NewHalf, NewHalf]
  const key = { owner: requirePrincipal(context).name, boundAlg: spec.alg, now }
  const created = await stageNew(objects, services, key, newKeyObjects(key, halves))
  const { material, usageMask } = first
  return { spec, made: undefined, material, usageMask, created }
}

/** @throws failure('conflict') before anything is created in the HSM */
async function requireUnusedId({ db }: StageKeyServices, { id }: HsmTarget): Promise<void> {
  if ((await findObject(db, id)) !== undefined)
    throw failure('conflict', 'An object with this identifier exists already.')
}

function tooManyTags() {
  return failure(
    'bad_request',
    `tags: a key can have at most ${maxTags}, including \`${jwksTag}\` of its public half.`,
  )
}

/** Stages the key of a request, which is not one of attribute-based encryption: the caller commits. @throws Failure */
export async function stageKey(
  body: KeyRequest,
  context: OperationContext<StageKeyServices>,
  objects: UnitOfWork,
  now: number,
) {
  const { services } = context
  if (body.kty === abe)
    throw failure('bad_request', 'kty: keys of attribute-based encryption are not supported here.')
  requireNotAbe(body)
  if (Object.hasOwn(body, 'oth'))
    throw failure('bad_request', 'oth: RSA keys of more than two primes are not supported.')
  const spec = toKeySpec(body, services.policy)
  const tags = userTags(body.tags ?? [])
  const target = readHsmTarget(body, context, now)
  if (target !== undefined) return stageHsmKey(body, { spec, tags, target }, context, objects, now)
  const made = await makeMaterial(spec, body)
  if (!('kind' in made)) requireNoJwkMembers(body)
  const limit = 'kind' in made ? toUsageLimit(body, made, spec.alg) : unlimited
  const extractability = toExtractability(body.ext)
  const halves = listHalves(made, spec.alg, tags, readPublicTags(spec, services), extractability, limit)
  if (halves.some((half) => half.tags.length > maxTags)) throw tooManyTags()
  const [{ material, usageMask }] = halves
  requireBits(body, material)
  requirePermitted(services.policy, keyFacts(material))
  const key = { owner: requirePrincipal(context).name, boundAlg: spec.alg, now }
  const created = await stageNew(objects, services, key, newKeyObjects(key, halves))
  return { spec, made, material, usageMask, created }
}

/** `POST /v1/crypto/keys`: creates or imports a key. A pair is stored in one commit. */
export const createKey = define({
  name: 'crypto.keys.create',
  reach: ['make object'],
  route: post('/v1/crypto/keys'),
  summary: 'Generate a key, or import one',
  description:
    'Members with key material make it an import. Only the private key of an imported pair is stored. With hsm the key is generated in an HSM, which requires that the caller is one of its administrators.',
  tag: 'Keys',
  access: createAccess<RestServices>(),
  request: KeyRequest,
  reply: KeyReply,
  errors: {
    403: 'The caller may not create keys, or user keys of this master key.',
    404: 'No such master key.',
    409: 'The master key was changed concurrently, or the HSM or this service has a key with this name.',
    422: 'The algorithm is not supported, or the key is not a master key.',
  },
  async act({ body }, context) {
    const { services } = context
    if (body.kty === abe) {
      requireNoMaterial(body)
      requireNoJwkMembers(body)
      const wanted = { tags: userTags(body.tags ?? []), extractability: toExtractability(body.ext) }
      return createAbeKey(body, wanted, context)
    }
    const now = services.clock.now()
    const objects = new UnitOfWork(services, now)
    const { spec, made, material, usageMask, created } = await stageKey(body, context, objects, now)
    const [kid, kidPublic] = created.map(({ id }) => id)
    context.audit({
      ...(kid !== undefined && { object: kid }),
      algorithm: spec.alg ?? material.algorithm,
      details: {
        origin: made !== undefined && 'kind' in made ? 'imported' : 'generated',
        ...(created[0]?.form.hsm !== undefined && { hsm: created[0].form.hsm.name }),
        ...(body.ext === false && { ext: false }),
        ...(kidPublic !== undefined && { linked: kidPublic }),
      },
    })
    await objects.commit(context.commit)
    const crv = toCrv(material)
    return {
      kid,
      ...(material.kind !== 'secret' && { kid_public: kidPublic ?? null }),
      kty: body.kty === 'OKP' ? 'OKP' : toKty(material.algorithm),
      ...(body.alg !== undefined && { alg: body.alg }),
      ...(crv !== undefined && { crv }),
      key_ops: opsWithin(spec.algorithm, spec.alg, usageMask),
      ...(body.ext !== undefined && { ext: body.ext }),
    }
  },
})
