import type { Authenticate } from '@warder/server'

/**
 * Authenticates the caller by one kind of credential.
 * @returns undefined when the request carries no credential of this kind
 * @throws failure('unauthorized') when it carries one that is wrong, and another credential may still be right;
 *   failure('overloaded') when it cannot be checked now, which ends the request
 */
export type Extractor = Authenticate

/** Three parts with dots: a signed JWT and nothing else that is accepted here. */
export function looksLikeJwt(token: string): boolean {
  const first = token.indexOf('.')
  return first > 0 && token.indexOf('.', first + 1) > first + 1
}
