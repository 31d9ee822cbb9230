import type { TSchema } from 'typebox'
import type {
  ForeignMembers,
  HttpMethod,
  Operation,
  OperationDeclaration,
  RouteDeclaration,
} from './types.ts'

type Define<Services> = <
  Body extends TSchema | undefined = undefined,
  Path extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
>(
  declaration: OperationDeclaration<Services, Body, Path, Query>,
) => Operation<Services>

/**
 * Declares an operation of a service: `defineOperation<Services>()({ name, route, access, request, act … })`.
 * `input.body`, `.path` and `.query` have the static types of their schemas. The dispatcher checks each of them against
 * its schema before `access.check` and `act` run, which makes the narrowing below correct.
 */
export function defineOperation<Services>(): Define<Services> {
  return (declaration) => declaration as unknown as Operation<Services>
}

/** Query parameters at addresses that show the same to every caller. */
export const fromProbes: ForeignMembers = {
  names: 'any',
  because:
    'Probes, load balancers and caches send this request with additional parameters, to bypass caches.',
}

/**
 * Throws when two operations share a name, or a method and path: the table of a service must be unambiguous.
 */
export function assertUniqueOperations(operations: readonly Operation<never>[]): void {
  const names = new Set<string>()
  const routes = new Set<string>()
  for (const operation of operations) {
    if (names.has(operation.name)) throw new Error(`two operations are named ${operation.name}`)
    names.add(operation.name)
    for (const method of operation.route.methods) {
      const key = `${method} ${operation.route.path.replaceAll(/\{[^}*]*(\*?)\**\}/g, '{$1}')}`
      if (routes.has(key)) throw new Error(`two operations have the route ${method} ${operation.route.path}`)
      routes.add(key)
    }
  }
}

function route(method: HttpMethod): (path: string) => RouteDeclaration {
  return (path) => ({ methods: [method], path })
}

/** Route of an operation: `get('/realms/{realm_id}')`. HEAD is answered by the same operation without a body. */
export const get = route('GET')
export const post = route('POST')
export const put = route('PUT')
export const patch = route('PATCH')
/** DELETE (the word itself is taken by the language). */
export const del = route('DELETE')

/** Several methods that mean the same on one path: `methods(['PUT', 'POST'], '/roles/{name}')`. */
export function methods(names: readonly HttpMethod[], path: string): RouteDeclaration {
  return { methods: names, path }
}

/** The names below a path, for clients of Vault: they send GET with `?list=true`, or the verb LIST. */
export function list(path: string): RouteDeclaration {
  return methods(['GET', 'LIST'], path)
}

/** One segment of a declared path. */
interface PathSegment {
  readonly kind: 'text' | 'parameter' | 'tail'
  /** Of a tail: it is taken as it was sent, percent signs and all. */
  readonly raw?: true
  /** Text to match, or the parameter's name. */
  readonly value: string
}

/**
 * Reads a declared path: `/realms/{realm_id}/files/{rest*}`; `{rest**}` is not decoded. Throws a plain Error when the declaration is wrong
 * (that is a mistake of the program, found when the table is built).
 */
export function pathSegments(path: string): readonly PathSegment[] {
  if (!path.startsWith('/')) throw new Error(`route ${path}: must start with a slash`)
  if (path === '/') return []
  const texts = path.slice(1).split('/')
  return texts.map((text, index) => {
    const parameter = /^\{([A-Za-z_][A-Za-z0-9_]*)(\*{0,2})\}$/.exec(text)
    if (parameter?.[1] !== undefined) {
      const tail = parameter[2] !== ''
      if (tail && index !== texts.length - 1)
        throw new Error(`route ${path}: a tail must be the last segment`)
      const raw = parameter[2] === '**' && { raw: true as const }
      return { kind: tail ? 'tail' : 'parameter', value: parameter[1], ...raw }
    }
    // A slash at the end is a path of its own.
    if (text === '' && index > 0 && index === texts.length - 1) return { kind: 'text', value: '' }
    if (!/^[A-Za-z0-9._~:@!$&'()+,;=-]+$/.test(text)) {
      throw new Error(`route ${path}: segment ${JSON.stringify(text)} is not plain text`)
    }
    return { kind: 'text', value: text }
  })
}
