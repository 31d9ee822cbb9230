import { failure } from '@warder/base'
import {
  listAliases,
  maxAliases,
  newestVersion,
  requirePrincipal,
  signedIn,
  versionNumber,
} from '@warder/keys'
import { del, get, list, methods, type Operation } from '@warder/server'
import Type from 'typebox'
import { createKey, Flag, Period, requireServed } from './create-key.ts'
import { changeKey, formatKey } from './describe-key.ts'
import { readSettings, settingsChanges } from './key-settings.ts'
import { common, NamePath, through, toAlias, transitFolder, transitRight, writing } from './row.ts'
import { define, type TransitServices } from './services.ts'
import { answer } from './text.ts'

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

const importSentence =
  'import: import keys with POST /v1/crypto/keys or over KMIP, and give them an alias; register keys of an HSM with POST /v1/crypto/hsms/{hsm}/keys'
const restoreSentence = 'restore: keys are restored with the database (warder restore)'

/** Paths of Vault that would disclose material, bring it in, or destroy some of it: refused with one message. */
const unsupportedOperations = (
  [
    [
      'trim',
      '/v1/transit/keys/{name}/trim',
      'trim: destroy versions one by one with /v1/crypto/keys/{kid}/versions',
    ],
    ['export', '/v1/transit/export/{type}/{name}', 'export: key material can be exported only over KMIP'],
    ['backup', '/v1/transit/backup/{name}', 'backup: key material can be exported only over KMIP'],
    ['restore', '/v1/transit/restore', restoreSentence],
    ['restore.name', '/v1/transit/restore/{name}', restoreSentence],
    ['import', '/v1/transit/keys/{name}/import', importSentence],
    [
      'import_version',
      '/v1/transit/keys/{name}/import_version',
      'import_version: versions are generated by the service: rotate the key',
    ],
    ['wrapping_key', '/v1/transit/wrapping_key', importSentence],
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
  createKey,
  read,
  remove,
  config,
  rotate,
  ...unsupportedOperations,
]
