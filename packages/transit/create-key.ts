import { failure } from '@warder/base'
import {
  generateKey,
  type KeySpec,
  keyFacts,
  type MaterialDescriptor,
  requirePermitted,
  toKeySpec,
} from '@warder/crypto'
import {
  aliasCreation,
  aliasId,
  aliasPrefix,
  countAliases,
  createAccess,
  createHsmHalves,
  findAlias,
  findHsmTarget,
  type HsmTarget,
  isLaterVersion,
  type ManagedObject,
  maxAliases,
  type NewHalf,
  newKeyObjects,
  readOwnAlias,
  requirePermittedKey,
  requirePrincipal,
  stageNew,
  toUsageMask,
  UnitOfWork,
} from '@warder/keys'
import { methods } from '@warder/server'
import { UniqueViolation } from '@warder/storage'
import Type from 'typebox'
import { describeToCaller, formatKey, requireKey } from './describe-key.ts'
import { requireKeyType, toKeyRequest } from './key-type.ts'
import { type Context, common, NamePath, through, toAlias, writing } from './row.ts'
import { define, type TransitServices } from './services.ts'
import { answer } from './text.ts'

export const Flag = Type.Optional(Type.Boolean())
export const Period = Type.Optional(Type.Union([Type.Integer(), Type.String()]))

/** Refuses options that would disclose material, or derive it. @throws failure('bad_request') */
export function requireServed(body: Readonly<Record<string, unknown>>): void {
  for (const name of ['exportable', 'allow_plaintext_backup'])
    if (body[name] === true)
      throw failure('bad_request', `${name}: key material can be exported only over KMIP`)
  for (const name of ['derived', 'convergent_encryption'])
    if (body[name] === true)
      throw failure('bad_request', `${name}: derived keys and convergent encryption are not supported`)
  const { auto_rotate_period: period } = body
  if (period !== undefined && !/^0[a-z]*$/.test(String(period)))
    throw failure('bad_request', 'auto_rotate_period: use /v1/crypto to set the rotation of the key')
}

/** Vault's type of a name for a key that exists, in an HSM. */
const managedKey = 'managed_key'
const managedMembers = ['managed_key_name', 'managed_key_id'] as const

const Text = Type.Optional(Type.String())
const KeyRequest = Type.Object({
  type: Text,
  key_size: Type.Optional(Type.Integer()),
  hsm: Type.Optional(
    Type.String({
      description:
        'Name of an HSM of the settings. The key is generated in this HSM and never leaves it; the caller is one of its administrators.',
    }),
  ),
  managed_key_name: Type.Optional(
    Type.String({
      description:
        'For type managed_key: identifier or alias of a key in an HSM. The name becomes an alias of this key.',
    }),
  ),
  managed_key_id: Type.Optional(
    Type.String({ description: 'For type managed_key, instead of managed_key_name: its identifier.' }),
  ),
  exportable: Flag,
  derived: Flag,
  convergent_encryption: Flag,
  allow_plaintext_backup: Flag,
  auto_rotate_period: Period,
})
type KeyRequest = Type.Static<typeof KeyRequest>

export const createKey = define({
  ...common,
  name: 'transit.keys.create',
  reach: ['make object', 'change names'],
  route: methods(writing, '/v1/transit/keys/{name}'),
  summary: 'Create a key under a name of the caller, or name a key in an HSM',
  description:
    'The key is the caller’s, with the alias `alias/transit/NAME`. An existing key is unchanged. With hsm the key is generated in an HSM; with the type managed_key the name becomes an alias of an existing key in an HSM.',
  access: createAccess<TransitServices>(),
  pathParameters: NamePath,
  bodyOptional: true,
  request: KeyRequest,
  async act({ body = {}, path: { name } }, context) {
    const { services } = context
    const { name: caller } = requirePrincipal(context)
    requireServed(body)
    if (body.type === managedKey) return nameManagedKey(body, name, context)
    for (const member of managedMembers)
      if (body[member] !== undefined)
        throw failure('bad_request', `${member}: is only for keys of type managed_key`)
    const alias = readOwnAlias(toAlias(name), caller)
    const spec = toKeySpec(toKeyRequest(body.type ?? 'aes256-gcm96', body.key_size), services.policy)
    const now = services.clock.now()
    const target = findHsmTarget(services.keys.hsms, { hsm: body.hsm }, caller, now)
    const known = await findAlias(services.db, aliasId(alias))
    if (known !== undefined) return describeExisting(context, name, body.hsm)
    if ((await countAliases(services.db, caller)) >= maxAliases)
      throw failure('conflict', `You have the maximum number of aliases (${maxAliases}).`)
    const objects = new UnitOfWork(services, now)
    const key = { owner: caller, boundAlg: spec.alg, now }
    const halves = await generateHalves(objects, spec, target, context)
    const [object] = await stageNew(objects, services, key, newKeyObjects(key, halves))
    if (object === undefined) throw failure('internal_error', 'no key was made')
    objects.also(...aliasCreation(services.db, alias, object.id, now))
    context.audit({
      object: object.id,
      algorithm: spec.alg ?? spec.algorithm,
      details: { alias: toAlias(name), ...(target !== undefined && { hsm: target.hsm.name }) },
    })
    try {
      await objects.commit(context.commit)
    } catch (error) {
      // A concurrent request has created the alias: the name refers to the key of that request.
      if (!(error instanceof UniqueViolation)) throw error
      const winner = await findAlias(services.db, aliasId(alias))
      if (winner === undefined) throw error
      return describeExisting(context, name, body.hsm)
    }
    return answer(await formatKey(context, name, await requireKey(context, object.id)))
  },
})

/** @throws failure('conflict') for a key that is not in the HSM of the request; as `describeToCaller` */
async function describeExisting(context: Context, name: string, hsm: string | undefined): Promise<object> {
  const described = await describeToCaller(context, name)
  if (hsm !== undefined && described.hsm !== hsm)
    throw failure('conflict', `hsm: the key ${name} exists and is not in the HSM ${hsm}: choose another name`)
  return answer(described)
}

async function generateHalves(
  objects: UnitOfWork,
  spec: KeySpec,
  target: HsmTarget | undefined,
  { services }: Context,
): Promise<readonly [NewHalf] | readonly [NewHalf, NewHalf]> {
  const mask = (half: MaterialDescriptor): number => toUsageMask(half, spec.alg)
  if (target !== undefined) {
    const { algorithm } = spec
    const size = {
      bits: 'bits' in spec ? spec.bits : undefined,
      curve: 'curve' in spec ? spec.curve : undefined,
    }
    return createHsmHalves(objects, services, target, { algorithm, ...size, mask }, services.clock.now())
  }
  const made = await generateKey(spec)
  const [first, second] = 'secret' in made ? [made.secret] : [made.private, made.public]
  requirePermitted(services.policy, keyFacts(first))
  const half = (material: typeof first): NewHalf => ({ material, usageMask: mask(material), tags: [] })
  return second === undefined ? [half(first)] : [half(first), half(second)]
}

/** Makes the name an alias of a key in an HSM, which its clients then use by this name. @throws Failure */
async function nameManagedKey(body: KeyRequest, name: string, context: Context): Promise<object> {
  const { services } = context
  for (const member of ['hsm', 'key_size'] as const)
    if (body[member] !== undefined)
      throw failure('bad_request', `${member}: a name of type managed_key creates no key: omit it`)
  const object = await findManagedKey(body, context)
  const alias = toAlias(name)
  const known = await findAlias(services.db, aliasId(readOwnAlias(alias, requirePrincipal(context).name)))
  if (known === undefined)
    await through(services.keyOperations.createAlias, { body: { alias, kid: object.id } }, context)
  else if (known.keyId !== object.id)
    throw failure(
      'conflict',
      `${name} is the name of another key: choose another one, or move its alias ${alias}`,
    )
  context.audit({ object: object.id, details: { alias } })
  return answer(await describeToCaller(context, name))
}

/** The key in an HSM that a request names, if the caller may read its attributes. @throws Failure */
async function findManagedKey(body: KeyRequest, context: Context): Promise<ManagedObject> {
  const [first, second] = managedMembers.filter((member) => body[member] !== undefined)
  if (first === undefined || second !== undefined)
    throw failure(
      'bad_request',
      'the type managed_key requires either managed_key_name, the identifier or an alias of a key in an HSM, or managed_key_id',
    )
  const named = body[first] ?? ''
  if (first === 'managed_key_id' && named.startsWith(aliasPrefix))
    throw failure('bad_request', 'managed_key_id: must be an identifier: use managed_key_name for an alias')
  const { object } = await requirePermittedKey(context, named, 'getattributes')
  if (object.form.hsm === undefined)
    throw failure('bad_request', `${first}: this object is not a secret or private key in an HSM`)
  if (isLaterVersion(object))
    throw failure('bad_request', `${first}: this is a version of a key: name the key, ${object.chainId}`)
  requireKeyType(object, first)
  return object
}
