import type { HttpMethod, RouteDeclaration } from './types.ts'

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
export interface PathSegment {
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
