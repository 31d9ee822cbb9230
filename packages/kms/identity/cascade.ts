import type { Authenticate, IncomingRequest, Principal } from '@warder/foundation/operations'
import type { Extractor } from './extractor.ts'

export interface CascadeOptions {
  /** In the order of the specification (§5): app token, certificate, JWT, auth verifier, API token, session. */
  readonly extractors: readonly Extractor[]
  readonly defaultUsername: string
  readonly forceDefaultUsername: boolean
}

/**
 * The extractors in their order: the first that finds its credential decides, by success or by refusal. When none is
 * configured the request runs as the default user, unless that name is forced: it takes an authentication. When one is
 * and finds nothing, nobody does.
 */
export function authenticateBy(options: CascadeOptions): Authenticate {
  const { extractors, defaultUsername, forceDefaultUsername } = options
  const nobodyAsked: Principal = { name: defaultUsername, method: 'default_username' }
  if (extractors.length === 0) return () => (forceDefaultUsername ? undefined : nobodyAsked)

  const named = (principal: Principal): Principal =>
    forceDefaultUsername ? { name: defaultUsername, method: principal.method } : principal

  const from = (request: IncomingRequest, start: number): ReturnType<Authenticate> => {
    for (let index = start; index < extractors.length; index++) {
      const found = extractors[index]?.(request)
      if (found instanceof Promise) {
        return found.then((principal) =>
          principal === undefined ? from(request, index + 1) : named(principal),
        )
      }
      if (found !== undefined) return named(found)
    }
    return undefined
  }
  return (request) => from(request, 0)
}
