import { type Failure, failure } from '@warder/base'
import {
  asObjectId,
  findTags,
  getChainId,
  type Key,
  processingVersion,
  protectingVersion,
} from '@warder/keys'
import type { OperationContext } from '@warder/server'
import { grantedToAny } from '../scope/granted-key.ts'
import type { ExternalStoreServices } from '../scope/scope.ts'
import { type MicrosoftScope, trialName } from './scope.ts'
import type { MicrosoftCaller } from './token.ts'

type Context = OperationContext<ExternalStoreServices>

/** Prefix of the tag of older versions of a key; the name of the key follows. */
const versionTag = 'dke:'

/** Microsoft's sample returns 400 for everything that is not found. */
function notFound(what: string): Failure {
  return failure('bad_request', `${what} does not exist.`)
}

/** Finds the version of a key that protects new documents: the newest version of a rotated key. */
export async function currentKey(context: Context, scope: MicrosoftScope, name: string): Promise<Key> {
  return protectingVersion(context.services.keys, await findNamedKey(context, scope, name))
}

async function findNamedKey({ services }: Context, scope: MicrosoftScope, name: string): Promise<Key> {
  const kid = scope.current.get(name)
  const id = kid === undefined ? undefined : asObjectId(kid)
  const key = id === undefined ? undefined : await services.keys.get(id)
  if (key === undefined) throw notFound(`The key ${name}`)
  return services.namedKeys.require(key)
}

/**
 * Finds a version of a key with which the caller may decrypt: of the current key, or of a key with the tag of the name
 * and the same owner. It must have been granted to the caller: to `microsoft:` and the address, to `microsoft:role:`
 * and a role or group, or to `microsoft:*`.
 * @throws failure('forbidden') for users without a grant, as the sample does
 */
export async function decryptionKey(
  context: Context,
  scope: MicrosoftScope,
  caller: MicrosoftCaller,
  name: string,
  kid: string,
): Promise<Key> {
  const { services } = context
  const current = await findNamedKey(context, scope, name)
  const id = asObjectId(kid)
  const version = id === undefined ? undefined : await services.keys.get(id)
  if (version === undefined || !(await hasName(services, name, current, version)))
    throw notFound(`The version ${kid.slice(0, 64)} of the key ${name}`)
  const { email, roles } = caller
  const names = [...(email === undefined ? [] : [email]), ...roles.map((role) => `role:${role}`)]
  if (names.length === 0)
    throw failure('bad_request', 'The token has neither email nor upn, and no roles or groups.')
  if (!(await grantedToAny(services, 'microsoft', names, getChainId(version.object), 'decrypt')))
    throw failure('forbidden', 'The user does not have access to the key.')
  return processingVersion(services.keys, version)
}

/** Tags and grants apply to all versions of a key (docs/adr/key-life-cycle-and-versions.md). */
async function hasName(
  services: ExternalStoreServices,
  name: string,
  current: Key,
  version: Key,
): Promise<boolean> {
  const chain = getChainId(version.object)
  if (chain === getChainId(current.object)) return true
  // A trial token can claim any address, so a user who may set tags could give such tokens access to another key.
  if (name === trialName) return false
  if (version.object.owner !== current.object.owner) return false
  return (await findTags(services.db, chain)).includes(`${versionTag}${name}`)
}

/** @throws failure('crypto_failure') unless it is an RSA private key */
export function requireRsa(key: Key): Key {
  const { type, algorithm } = key.object
  if (type !== 'PrivateKey' || algorithm !== 'RSA')
    throw failure('crypto_failure', 'The key is not an RSA private key.')
  return key.requireBoundTo('RSA-OAEP-256')
}
