import { andThen, Failure, type Logger, type MaybePromise } from '@warder/base'
import type { Authenticate, IncomingRequest, Principal } from '@warder/server'

/** A credential of a request. Several extractors may read the same one: every bearer token is in `Authorization`. */
export type Credential = 'app token' | 'client certificate' | 'bearer token' | 'session cookie'

export interface CascadeStep {
  readonly credential: Credential
  readonly extract: Extractor
  /** true: when this credential is refused, no other is tried. */
  readonly failsClosed?: boolean
}

export interface CascadeOptions {
  /** In the order in which they are tried: app token, certificate, JWT, auth verifier, API token, session. */
  readonly steps: readonly CascadeStep[]
  readonly defaultUsername: string
  readonly forceDefaultUsername: boolean
  /** The principal, unless its requests are refused. @throws failure('forbidden') */
  readonly admit?: (principal: Principal) => MaybePromise<Principal>
  readonly log: Logger
}

const asIs = (principal: Principal): Principal => principal

/** Credentials of one request that were refused so far. */
interface Refused {
  /** Failure for the caller if no method succeeds. */
  readonly first: Failure
  readonly credentials: readonly Credential[]
}

/**
 * The first credential that succeeds decides; the request is refused when none does (§5 rule 1). A credential that one
 * extractor refused is not passed to another: a token of a configured issuer that lacks its audience must not be
 * accepted by an extractor that checks only the signature. A credential that cannot be checked now (503) ends the
 * request, because otherwise the caller's identity would depend on which services are reachable. When no extractor is
 * configured, the request runs as the default user, unless that name is forced, which requires authentication. When one
 * is configured and the request carries no credential, the request is unauthenticated.
 */
export function authenticateBy({ steps, ...options }: CascadeOptions): Authenticate {
  const { defaultUsername, forceDefaultUsername, log, admit = asIs } = options
  const nobodyAsked: Principal = { name: defaultUsername, method: 'default_username' }
  if (steps.length === 0) return () => (forceDefaultUsername ? undefined : admit(nobodyAsked))

  const accept = (
    request: IncomingRequest,
    principal: Principal,
    refused: Refused | undefined,
  ): MaybePromise<Principal> => {
    if (refused !== undefined) {
      const { first, credentials } = refused
      log.info(
        { request_id: request.id, detail: first.detail, refused: credentials, accepted: principal.method },
        'one credential of a request was refused, but another one was accepted',
      )
    }
    if (!forceDefaultUsername) return admit(principal)
    // A blocked user stays blocked under the name that all users share.
    return andThen(admit(principal), ({ method }) => admit({ name: defaultUsername, method }))
  }

  const from = (
    request: IncomingRequest,
    start: number,
    refusedBefore: Refused | undefined,
  ): ReturnType<Authenticate> => {
    let refused = refusedBefore
    for (let index = start; index < steps.length; index++) {
      const step = steps[index]
      if (step === undefined || refused?.credentials.includes(step.credential) === true) continue
      let found: ReturnType<Extractor>
      try {
        found = step.extract(request)
      } catch (thrown) {
        refused = withRefusal(refused, step, thrown)
        continue
      }
      if (found instanceof Promise) {
        const before = refused
        return found.then(
          (principal) =>
            principal === undefined ? from(request, index + 1, before) : accept(request, principal, before),
          (thrown: unknown) => from(request, index + 1, withRefusal(before, step, thrown)),
        )
      }
      if (found !== undefined) return accept(request, found, refused)
    }
    if (refused !== undefined) throw refused.first
    return undefined
  }
  return (request) => from(request, 0, undefined)
}

/** @throws the error that ends the request */
function withRefusal(refused: Refused | undefined, step: CascadeStep, thrown: unknown): Refused {
  if (!(thrown instanceof Failure) || thrown.kind !== 'unauthorized' || step.failsClosed === true)
    throw thrown
  return {
    first: refused?.first ?? thrown,
    credentials: [...(refused?.credentials ?? []), step.credential],
  }
}

/**
 * Authenticates the caller by one kind of credential.
 * @returns undefined when the request carries no credential of this kind
 * @throws failure('unauthorized') when it carries one that is wrong, and another credential may still be right;
 *   failure('overloaded') when it cannot be checked now, which ends the request
 */
export type Extractor = Authenticate

/** Three parts separated by dots: of the accepted tokens, only a signed JWT has them. */
export function looksLikeJwt(token: string): boolean {
  const first = token.indexOf('.')
  return first > 0 && token.indexOf('.', first + 1) > first + 1
}
