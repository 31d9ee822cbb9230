import { failure, isName } from '@warder/base'
import type { Principal } from '@warder/server'
import { externalPrefix, externalStoreNames } from './external-names.ts'

/** Names that only one kind of credential may give, so that no other can pretend to be it. */
const reserved: Readonly<Record<string, readonly string[]>> = {
  'app:': ['app_token'],
  'spiffe://': ['spiffe'],
  ...Object.fromEntries(externalStoreNames.map((store) => [externalPrefix(store), []])),
  // Deleted owners: `formerOwnerName`.
  'ended:': [],
  // Grantees that represent several principals.
  'group:': [],
  'role:': [],
}

/**
 * Creates the principal if its name is valid: `isName` accepts it, it is not `*` (all users, in grants), and it is not
 * in the name space of another method.
 * @throws failure('unauthorized')
 */
export function principalNamed(name: string, method: string, realm?: string): Principal {
  if (!isName(name) || name === '*') throw unauthorized('the name in the credential is not a valid user name')
  for (const [prefix, methods] of Object.entries(reserved)) {
    if (name.startsWith(prefix) && !methods.includes(method)) {
      throw unauthorized(`names with the prefix ${prefix} are not allowed for ${method}`)
    }
  }
  return realm === undefined ? { name, method } : { name, method, realm }
}

/** 401 with one sentence for everything; why goes to the log. */
export function unauthorized(detail: string, cause?: unknown): Error {
  return failure('unauthorized', undefined, { detail, cause })
}
