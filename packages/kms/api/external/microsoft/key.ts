import { Failure, failure } from '@warder/foundation/errors'
import type { OperationContext } from '@warder/foundation/operations'
import { grantedKey } from '../../../external/index.ts'
import { asObjectId, type Key, tagsOf } from '../../../keys/index.ts'
import type { KmsServices } from '../../../services.ts'
import type { MicrosoftScope } from './scope.ts'
import type { MicrosoftCaller } from './token.ts'

type Context = OperationContext<KmsServices>

/** Beginning of the tag that older versions of a key have; its name follows. */
const versionTag = 'dke:'

/** Microsoft's sample answers 400 to whatever is not found. */
function notFound(what: string): Failure {
  return failure('bad_request', `${what} is not there.`)
}

/** The version of a key that new documents are protected with. */
export async function currentKey({ services }: Context, scope: MicrosoftScope, name: string): Promise<Key> {
  const kid = scope.current.get(name)
  const id = kid === undefined ? undefined : asObjectId(kid)
  const key = id === undefined ? undefined : await services.keys.get(id)
  if (key === undefined) throw notFound(`The key ${name}`)
  return key
}

/**
 * A version of a key that the caller may decrypt with: the current one, or one that has the tag of the name and the same
 * owner. It must have been granted to the caller: to `microsoft:` and the address, to `microsoft:role:` and a role or
 * group, or to `microsoft:*`.
 * @throws failure('forbidden'), as the sample answers whom a key was not granted to
 */
export async function decryptionKey(
  context: Context,
  scope: MicrosoftScope,
  caller: MicrosoftCaller,
  name: string,
  kid: string,
): Promise<Key> {
  const current = await currentKey(context, scope, name)
  const { services } = context
  const what = `The version ${kid.slice(0, 64)} of the key ${name}`
  if (kid !== current.object.id) {
    const id = asObjectId(kid)
    const older = id === undefined ? undefined : await services.keys.get(id)
    if (older === undefined || older.object.owner !== current.object.owner) throw notFound(what)
    if (!(await tagsOf(services.db, kid)).includes(`${versionTag}${name}`)) throw notFound(what)
  }
  const { email, roles } = caller
  const names = [...(email === undefined ? [] : [email]), ...roles.map((role) => `role:${role}`)]
  if (names.length === 0)
    throw failure('bad_request', 'The token has neither email nor upn, and no roles or groups.')
  for (const principal of names) {
    const key = await grantedTo(services, principal, kid)
    if (key !== undefined) return key
  }
  throw failure('forbidden', 'The user does not have access to the key.')
}

async function grantedTo(services: KmsServices, principal: string, kid: string): Promise<Key | undefined> {
  try {
    return await grantedKey(services, 'microsoft', principal, kid, 'decrypt')
  } catch (error) {
    if (error instanceof Failure && (error.kind === 'forbidden' || error.kind === 'not_found'))
      return undefined
    throw error
  }
}

/** @throws failure('crypto_failure') for what is no RSA private key */
export function requireRsa(key: Key): Key {
  const { type, algorithm } = key.object
  if (type !== 'PrivateKey' || algorithm !== 'RSA')
    throw failure('crypto_failure', 'The key is not an RSA private key.')
  return key.requireBoundTo('RSA-OAEP-256')
}
