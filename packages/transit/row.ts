import { failure } from '@warder/base'
import {
  aliasPrefix,
  findKeyVersion,
  type Key,
  keyNotFound,
  keyRight,
  newestVersion,
  processingVersion,
  protectingVersion,
  type Right,
  versionNumber,
} from '@warder/keys'
import type { Operation, OperationContext, OperationInput } from '@warder/server'
import Type from 'typebox'
import { transitErrors } from './error-shape.ts'
import type { TransitServices } from './services.ts'

export type Context = OperationContext<TransitServices>

/** Members of every row of the transit interface. */
export const common = {
  tag: 'Transit',
  errorShape: transitErrors,
  anyContentType: true,
  errors: { 403: 'There is no token, or it lacks the right.', 404: 'No such key.' },
} as const

/** Members of a row that uses the key of its path. */
export const commonByUse = {
  ...common,
  foreignMembers: {
    names: ['name'],
    because: 'Vault clients repeat the name of the key; the path determines it, as in Vault.',
  },
} as const

export const writing = ['POST', 'PUT'] as const
export const NamePath = Type.Object({
  name: Type.String({ description: 'Name of a key of the caller, or `NAME@OWNER`.' }),
})

/**
 * Prefix of the aliases of transit keys, after `alias/`: they are aliases like others
 * (docs/adr/identifiers-and-aliases.md).
 */
export const transitFolder = 'transit/'

/** The alias for a name in a path. @throws failure('bad_request') */
export function toAlias(name: string): string {
  if (name.includes('/')) throw failure('bad_request', 'the name of a key must not contain a slash')
  return `${aliasPrefix}${transitFolder}${name}`
}

/** The key of the path, for callers who have `right` on it. */
export function transitRight(right: Right) {
  return keyRight<TransitServices, string>(right, {
    read: ({ path }) => toAlias(path.name ?? ''),
    kid: (alias) => alias,
  })
}

/** A version of a key, and its number. */
export interface Version {
  readonly key: Key
  readonly number: number
}

const withNumber = (key: Key): Version => ({ key, number: versionNumber(key.object) })

/**
 * The version that protects now: only the newest, regardless of the request
 * (docs/adr/key-life-cycle-and-versions.md).
 * @param asked 0, an empty text or undefined = the newest
 * @throws failure('bad_request') for another one; failure('crypto_failure')
 */
export async function newestToProtect(
  { services }: Context,
  key: Key,
  asked: number | string = 0,
): Promise<Version> {
  const wanted = Number(asked)
  const version = withNumber(await protectingVersion(services.keys, key))
  if (wanted === 0 || wanted === version.number) return version
  throw failure(
    'bad_request',
    `requested version for encryption is not the newest, ${version.number}: older versions cannot encrypt or sign`,
  )
}

/**
 * The version with this number, if its key lets it process.
 * @throws failure('bad_request') for one that is not there; failure('crypto_failure') for one that is too old
 */
export async function versionAt({ services }: Context, key: Key, wanted: number): Promise<Version> {
  const newest = await newestVersion(services.keys, key)
  if (versionNumber(newest.object) === wanted)
    return withNumber(await processingVersion(services.keys, newest))
  const object = await findKeyVersion(services.db, key.object, wanted - 1)
  if (object === undefined)
    throw failure('bad_request', 'invalid ciphertext or signature: there is no such version of the key')
  const version = await services.keys.get(object.id)
  if (version === undefined) throw keyNotFound()
  return withNumber(await processingVersion(services.keys, version))
}

/** @throws failure('bad_request') for parameters of derived keys and convergent encryption */
export function requireNotDerived(item: { readonly context?: string; readonly nonce?: string }): void {
  for (const member of ['context', 'nonce'] as const)
    if (item[member] !== undefined && item[member] !== '')
      throw failure('bad_request', `${member}: derived keys and convergent encryption are not supported`)
}

/**
 * Calls another operation of the service, with the checks of that operation, for a request of this interface.
 */
export async function through(
  operation: Operation<TransitServices>,
  input: Partial<OperationInput>,
  context: Context,
): Promise<unknown> {
  const whole: OperationInput = { path: {}, query: {}, body: undefined, ...input }
  await operation.access.check?.(whole, context)
  return operation.act(whole, context)
}
