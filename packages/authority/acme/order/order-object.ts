import type { AcmeUrls } from '../request/environment.ts'
import type { Authorization } from '../stored/authorization-store.ts'
import type { Order } from '../stored/order-store.ts'

const time = (ms: number): string => new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z')

/** RFC 8555 §7.1.3 */
export function orderObject(order: Order, parts: readonly Authorization[], urls: AcmeUrls): unknown {
  const { id, status, expiresAt, identifiers, notBefore, notAfter, error, certificate } = order
  return {
    status,
    expires: time(expiresAt),
    identifiers,
    ...(notBefore !== undefined && { notBefore: time(notBefore) }),
    ...(notAfter !== undefined && { notAfter: time(notAfter) }),
    ...(error !== undefined && { error }),
    authorizations: parts.map((part) => urls.authorization(part.id)),
    finalize: `${urls.order(id)}/finalize`,
    ...(certificate !== undefined && { certificate: urls.certificate(certificate) }),
  }
}

/** RFC 8555 §7.1.4 */
export function authorizationObject(authorization: Authorization, urls: AcmeUrls): unknown {
  const { id, identifier, status, expiresAt, wildcard, challenges } = authorization
  // RFC 8555 §7.1.4: a valid authorization lists the validated challenge, an invalid one the failed challenge.
  const shown = status === 'pending' ? challenges : challenges.filter((each) => each.status !== 'pending')
  return {
    identifier,
    status,
    expires: time(expiresAt),
    challenges: shown.map((each) => challengeObject(id, each, urls)),
    ...(wildcard && { wildcard }),
  }
}

/** RFC 8555 §8 */
export function challengeObject(
  authorizationId: string,
  { type, token, status, validatedAt, error }: Authorization['challenges'][number],
  urls: AcmeUrls,
): unknown {
  return {
    type,
    url: urls.challenge(authorizationId, type),
    status,
    token,
    ...(validatedAt !== undefined && { validated: time(validatedAt) }),
    ...(error !== undefined && { error }),
  }
}
