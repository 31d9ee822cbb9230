import { failure } from '@warder/foundation/errors'
import { isName } from '@warder/foundation/names'
import type { IncomingRequest, Principal } from '@warder/foundation/operations'
import type { MaybePromise } from '@warder/foundation/promises'
import { externalPrefix, externalStoreNames } from '../external/index.ts'

/**
 * Authenticates the caller by one kind of credential.
 * @returns undefined when the request carries no credential of this kind
 * @throws failure('unauthorized') when it carries one that is wrong, and another credential may still be right;
 *   failure('overloaded') when it cannot be checked now, which ends the request
 */
export type Extractor = (request: IncomingRequest) => MaybePromise<Principal | undefined>

/** Names that only one kind of credential may give, so that no other can pretend to be it. */
const reserved: Readonly<Record<string, readonly string[]>> = {
  'app:': ['app_token'],
  'spiffe://': ['spiffe'],
  ...Object.fromEntries(externalStoreNames.map((store) => [externalPrefix(store), []])),
  // Deleted owners: `formerOwnerName`.
  'ended:': [],
}

/**
 * Creates the principal if its name is valid: `isName` accepts it, it is not `*` (all users, in grants), and it is not
 * in the name space of another method.
 * @throws failure('unauthorized')
 */
export function principalNamed(name: string, method: string, realm?: string): Principal {
  if (!isName(name) || name === '*') throw unauthorized('the name in the credential cannot be a user')
  for (const [prefix, methods] of Object.entries(reserved)) {
    if (name.startsWith(prefix) && !methods.includes(method)) {
      throw unauthorized(`names that begin with ${prefix} are not for ${method}`)
    }
  }
  return realm === undefined ? { name, method } : { name, method, realm }
}

/** 401 with one sentence for everything; why goes to the log. */
export function unauthorized(detail: string, cause?: unknown): Error {
  return failure('unauthorized', undefined, { detail, cause })
}

/** The token of `Authorization: Bearer`, scheme in any case (RFC 9110 §11.1); undefined for other schemes. */
export function bearerToken(request: IncomingRequest): string | undefined {
  const header = request.headers.authorization
  if (header === undefined) return undefined
  // Fast path for the common form; the pattern reads all other forms that the scheme permits.
  if (header.startsWith('Bearer ') && header.indexOf(' ', 7) === -1 && header.indexOf(',', 7) === -1) {
    return header.length === 7 ? undefined : header.slice(7)
  }
  return /^bearer +([^\s,]+)$/i.exec(header)?.[1]
}

/** Three parts with dots: a signed JWT and nothing else that is accepted here. */
export function looksLikeJwt(token: string): boolean {
  const first = token.indexOf('.')
  return first > 0 && token.indexOf('.', first + 1) > first + 1
}
