import type { createPublicKey } from 'node:crypto'
import { failure, toFailure } from '@warder/base'
import { generateKey, keyFacts, requirePermitted, toKeySpec } from '@warder/crypto'
import {
  aliasCreation,
  aliasId,
  countAliases,
  createAccess,
  findAlias,
  type Key,
  listAliases,
  listKeyVersions,
  type ManagedObject,
  maxAliases,
  newestVersion,
  newKeyObjects,
  readOwnAlias,
  requirePermittedKey,
  requirePrincipal,
  signedIn,
  stageNew,
  toUsageMask,
  UnitOfWork,
  versionNumber,
} from '@warder/keys'
import { del, get, list, methods, type Operation } from '@warder/server'
import { UniqueViolation } from '@warder/storage'
import Type from 'typebox'

import { readSettings, settingsChanges } from './key-settings.ts'
import { findKeyType, toKeyRequest } from './key-type.ts'
import {
  type Context,
  common,
  NamePath,
  through,
  toAlias,
  transitFolder,
  transitRight,
  writing,
} from './row.ts'
import { define, type TransitServices } from './services.ts'
import { answer } from './text.ts'

const Flag = Type.Optional(Type.Boolean())
const Period = Type.Optional(Type.Union([Type.Integer(), Type.String()]))

/** Refuses options that would disclose material, or derive it. @throws failure('bad_request') */
function requireServed(body: Readonly<Record<string, unknown>>): void {
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

const create = define({
  ...common,
  name: 'transit.keys.create',
  reach: ['make object'],
  route: methods(writing, '/v1/transit/keys/{name}'),
  summary: 'Create a key under a name of the caller',
  description: 'The key is the caller’s, with the alias `alias/transit/NAME`. An existing key is unchanged.',
  access: createAccess<TransitServices>(),
  pathParameters: NamePath,
  bodyOptional: true,
  request: Type.Object({
    type: Type.Optional(Type.String()),
    key_size: Type.Optional(Type.Integer()),
    exportable: Flag,
    derived: Flag,
    convergent_encryption: Flag,
    allow_plaintext_backup: Flag,
    auto_rotate_period: Period,
  }),
  async act({ body = {}, path: { name } }, context) {
    const { services } = context
    const { name: caller } = requirePrincipal(context)
    requireServed(body)
    const alias = readOwnAlias(toAlias(name), caller)
    const spec = toKeySpec(toKeyRequest(body.type ?? 'aes256-gcm96', body.key_size), services.policy)
    const known = await findAlias(services.db, aliasId(alias))
    if (known !== undefined) return answer(await describeToCaller(context, name))
    if ((await countAliases(services.db, caller)) >= maxAliases)
      throw failure('conflict', `You have the maximum number of aliases (${maxAliases}).`)
    const made = await generateKey(spec)
    const materials = 'secret' in made ? ([made.secret] as const) : ([made.private, made.public] as const)
    requirePermitted(services.policy, keyFacts(materials[0]))
    const now = services.clock.now()
    const objects = new UnitOfWork(services, now)
    const key = { owner: caller, boundAlg: spec.alg, now }
    const [first, second] = materials.map((material) => ({
      material,
      usageMask: toUsageMask(material, spec.alg),
      tags: [],
    }))
    if (first === undefined) throw failure('internal_error', 'no key was made')
    const wanted = newKeyObjects(key, second === undefined ? [first] : [first, second])
    const [object] = await stageNew(objects, services, key, wanted)
    if (object === undefined) throw failure('internal_error', 'no key was made')
    objects.also(...aliasCreation(services.db, alias, object.id, now))
    context.audit({
      object: object.id,
      algorithm: spec.alg ?? spec.algorithm,
      details: { alias: toAlias(name) },
    })
    try {
      await objects.commit(context.commit)
    } catch (error) {
      // A concurrent request created the alias first: its key has this name.
      if (!(error instanceof UniqueViolation)) throw error
      const winner = await findAlias(services.db, aliasId(alias))
      if (winner === undefined) throw error
      return answer(await describeToCaller(context, name))
    }
    return answer(await formatKey(context, name, await requireKey(context, object.id)))
  },
})

async function requireKey({ services }: Context, id: ManagedObject['id']): Promise<Key> {
  const key = await services.keys.get(id)
  if (key === undefined) throw failure('not_found', 'Key not found.')
  return key
}

/**
 * Describes a key to a caller who may read it: the alias of a caller may refer to a key of another owner.
 * @throws failure('not_found'); failure('forbidden')
 */
async function describeToCaller(context: Context, name: string): Promise<object> {
  const key = await requirePermittedKey(context, toAlias(name), 'getattributes')
  return formatKey(context, name, key)
}

/**
 * The answer to a change, which contains the key if the caller may read it: a right to change it includes no right to
 * read.
 */
async function changeKey(context: Context, name: string): Promise<object> {
  try {
    return answer(await describeToCaller(context, name))
  } catch (thrown) {
    const { kind } = toFailure(thrown)
    if (kind !== 'forbidden' && kind !== 'not_found') throw thrown
    return answer(null)
  }
}

/** Versions that are shown of one key. */
const maxShown = 100

async function formatKey(context: Context, name: string, key: Key): Promise<object> {
  const { services } = context
  const { object } = key
  const type = findKeyType(object)
  const newest = await newestVersion(services.keys, key)
  const { deletionAllowed, minEncryptionVersion } = await readSettings(services, object.id)
  const versions = await listKeyVersions(services.db, object, { from: object.minGeneration, limit: maxShown })
  const keys: Record<string, unknown> = {}
  for (const one of versions.toReversed())
    keys[versionNumber(one)] = await formatVersion(context, one, type?.name)
  return {
    name,
    type: type?.name ?? 'unknown',
    latest_version: versionNumber(newest.object),
    min_decryption_version: object.minGeneration + 1,
    min_encryption_version: minEncryptionVersion,
    min_available_version: 0,
    deletion_allowed: deletionAllowed,
    derived: false,
    exportable: false,
    allow_plaintext_backup: false,
    imported_key: false,
    auto_rotate_period: 0,
    supports_encryption: type?.encrypts === true,
    supports_decryption: type?.encrypts === true,
    supports_signing: type?.signs === true,
    supports_derivation: false,
    keys,
  }
}

/** Of a secret key when it was made, of a pair the public half, too. */
async function formatVersion(
  { services }: Context,
  object: ManagedObject,
  type: string | undefined,
): Promise<unknown> {
  const madeAt = Math.floor(object.createdAt / 1000)
  if (object.type === 'SymmetricKey') return madeAt
  const version = await services.keys.get(object.id)
  const publicKey = version?.keyless === false ? version.held.publicKey : undefined
  return {
    name: object.curve ?? type,
    creation_time: new Date(object.createdAt).toISOString(),
    public_key: publicKey === undefined ? '' : toPem(publicKey, object),
  }
}

/** PEM of an RSA or EC key; the bytes of an Ed25519 key in base64, as in Vault. */
function toPem(key: ReturnType<typeof createPublicKey>, { algorithm }: ManagedObject): string {
  if (algorithm !== 'Ed25519') return key.export({ format: 'pem', type: 'spki' }).toString()
  const { x = '' } = key.export({ format: 'jwk' })
  return Buffer.from(x, 'base64url').toString('base64')
}

const readAccess = transitRight('getattributes')
const read = define({
  ...common,
  name: 'transit.keys.read',
  reach: ['reveal attributes', 'reveal public'],
  route: get('/v1/transit/keys/{name}'),
  summary: 'Properties of a key and its versions',
  access: readAccess,
  pathParameters: NamePath,
  async act({ path: { name } }, context) {
    return answer(await formatKey(context, name, readAccess.resolved(context).key))
  },
})

const listKeys = define({
  ...common,
  name: 'transit.keys.list',
  reach: ['reveal existence', 'reveal attributes'],
  route: list('/v1/transit/keys'),
  summary: 'Names of the caller’s keys; clients send LIST, or GET with `?list=true`',
  access: signedIn,
  queryParameters: Type.Object({ list: Type.Optional(Type.String()) }),
  async act(_input, context) {
    // `/` is followed by `0` in ASCII: these are the names that begin with the folder.
    const own = await listAliases(
      context.services.db,
      requirePrincipal(context).name,
      transitFolder,
      maxAliases,
    )
    const keys = own.flatMap(({ name }) =>
      name.startsWith(transitFolder) ? [name.slice(transitFolder.length)] : [],
    )
    if (keys.length === 0) throw failure('not_found', 'Key not found.')
    return answer({ keys })
  },
})

const removeAccess = transitRight('destroy')
const remove = define({
  ...common,
  name: 'transit.keys.delete',
  reach: ['change state', 'end object'],
  route: del('/v1/transit/keys/{name}'),
  summary: 'Remove a key for which `deletion_allowed` is set, with all of its versions',
  access: removeAccess,
  pathParameters: NamePath,
  status: 204,
  async act({ path: { name } }, context) {
    const { id } = removeAccess.resolved(context).key.object
    if (!(await readSettings(context.services, id)).deletionAllowed)
      throw failure('bad_request', `error deleting policy ${name}: deletion is not allowed for this policy`)
    return through(context.services.keyOperations.delete, { path: { kid: toAlias(name) } }, context)
  },
})

const configAccess = transitRight('setattribute')
const config = define({
  ...common,
  name: 'transit.keys.config',
  reach: ['change attributes', 'change versions'],
  route: methods(writing, '/v1/transit/keys/{name}/config'),
  summary: 'Set the usable versions, and whether the key may be deleted',
  access: configAccess,
  pathParameters: NamePath,
  request: Type.Object({
    min_decryption_version: Type.Optional(Type.Integer({ minimum: 0 })),
    min_encryption_version: Type.Optional(Type.Integer({ minimum: 0 })),
    deletion_allowed: Flag,
    exportable: Flag,
    allow_plaintext_backup: Flag,
    auto_rotate_period: Period,
  }),
  async act({ body, path: { name } }, context) {
    requireServed(body)
    const { services } = context
    const { key } = configAccess.resolved(context)
    const latest = versionNumber((await newestVersion(services.keys, key)).object)
    const {
      min_decryption_version: decrypting,
      min_encryption_version: encrypting,
      deletion_allowed: deletable,
    } = body
    if (encrypting !== undefined && encrypting > latest)
      throw failure(
        'bad_request',
        `cannot set min encryption version of ${encrypting}, latest key version is ${latest}`,
      )
    if (decrypting !== undefined)
      await through(
        services.keyOperations.setRotation,
        { path: { kid: toAlias(name) }, body: { min_decrypt_version: Math.max(1, decrypting) } },
        context,
      )
    if (encrypting !== undefined || deletable !== undefined) {
      const wanted = {
        ...(deletable !== undefined && { deletionAllowed: deletable }),
        ...(encrypting !== undefined && { minEncryptionVersion: encrypting }),
      }
      await context.commit(await settingsChanges(services, key.object.id, wanted))
    }
    return changeKey(context, name)
  },
})

const rotate = define({
  ...common,
  name: 'transit.keys.rotate',
  reach: ['change versions'],
  asks: ['rekey'],
  route: methods(writing, '/v1/transit/keys/{name}/rotate'),
  summary: 'Rotate a key to a new version',
  access: { ...signedIn, name: transitRight('rekey').name },
  pathParameters: NamePath,
  bodyOptional: true,
  request: Type.Object({}),
  async act({ path: { name } }, context) {
    await through(context.services.keyOperations.rotate, { path: { kid: toAlias(name) }, body: {} }, context)
    return changeKey(context, name)
  },
})

/** Paths of Vault that would disclose material, or destroy some of it: refused with one message. */
const unsupportedOperations = (
  [
    [
      'trim',
      '/v1/transit/keys/{name}/trim',
      'trim: destroy versions one by one with /v1/crypto/keys/{kid}/versions',
    ],
    ['export', '/v1/transit/export/{type}/{name}', 'export: key material can be exported only over KMIP'],
    ['backup', '/v1/transit/backup/{name}', 'backup: key material can be exported only over KMIP'],
  ] as const
).map(([name, path, sentence]) =>
  define({
    ...common,
    name: `transit.refused.${name}`,
    route: methods(['GET', 'POST', 'PUT'], path),
    summary: `Not supported: ${sentence}`,
    reach: [],
    rawBody: true,
    access: signedIn,
    act() {
      throw failure('bad_request', sentence)
    },
  }),
)

export const keyRows: readonly Operation<TransitServices>[] = [
  listKeys,
  create,
  read,
  remove,
  config,
  rotate,
  ...unsupportedOperations,
]
