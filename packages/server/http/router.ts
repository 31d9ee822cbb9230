import { failure } from '@warder/base'
import { pathSegments } from '../operations/define.ts'

interface Node<T> {
  readonly texts: Map<string, Node<T>>
  parameter: Node<T> | undefined
  tail: Node<T> | undefined
  /** By method; `names` are the parameters of that route in order. */
  readonly routes: Map<string, Route<T>>
}

interface Route<T> {
  readonly target: T
  readonly names: readonly string[]
  readonly hasTail: boolean
  readonly rawTail: boolean
}

/** The result of looking up a path. `allow` is set when the path exists but does not answer the method. */
export type Match<T> =
  | { readonly target: T; readonly parameters: Readonly<Record<string, string>>; readonly allow?: undefined }
  | { readonly target: undefined; readonly allow: readonly string[] | undefined }

export interface Router<T> {
  /** Throws failure('bad_request') when a parameter is not valid percent-encoding of UTF-8 text. */
  find(method: string, path: string): Match<T>
}

const noParameters: Readonly<Record<string, string>> = Object.freeze(Object.create(null))
const nothing: Match<never> = { target: undefined, allow: undefined }

/**
 * Finds the target of a method and a raw path. Text wins over a parameter, a parameter over a tail. A segment is split
 * off before it is decoded, and decoded exactly once: an encoded slash is data and never a separator, and `..` is a
 * segment like any other (in a tail it is refused). HEAD is answered if GET is.
 *
 * A path matches one declared path, and only the methods of that path: `/keys/new` does not have the methods of
 * `/keys/{kid}` (OpenAPI 3.1 §4.8.8: a path without templates is matched before those with templates).
 */
export function createRouter<T>(
  table: readonly { readonly methods: readonly string[]; readonly path: string; readonly target: T }[],
): Router<T> {
  const root = node<T>()
  for (const row of table) insert(root, row.methods, row.path, row.target)
  const fixed = new Map<string, ReadonlyMap<string, Match<T>>>()
  for (const row of table) {
    if (row.path.includes('{')) continue
    const matches = new Map(fixed.get(row.path))
    for (const method of row.methods) matches.set(method, { target: row.target, parameters: noParameters })
    const get = matches.get('GET')
    if (get !== undefined && !matches.has('HEAD')) matches.set('HEAD', get)
    fixed.set(row.path, matches)
  }
  return {
    find(method, path) {
      return fixed.get(path)?.get(method) ?? walk(root, method, path)
    },
  }
}

function node<T>(): Node<T> {
  return { texts: new Map(), parameter: undefined, tail: undefined, routes: new Map() }
}

function insert<T>(root: Node<T>, methods: readonly string[], path: string, target: T): void {
  let at = root
  const names: string[] = []
  let hasTail = false
  let rawTail = false
  for (const segment of pathSegments(path)) {
    if (segment.kind === 'text') {
      const next: Node<T> = at.texts.get(segment.value) ?? node<T>()
      at.texts.set(segment.value, next)
      at = next
      continue
    }
    if (names.includes(segment.value)) throw new Error(`route ${path}: {${segment.value}} appears twice`)
    names.push(segment.value)
    hasTail = segment.kind === 'tail'
    rawTail = segment.raw === true
    if (hasTail) {
      at.tail ??= node<T>()
      at = at.tail
    } else {
      at.parameter ??= node<T>()
      at = at.parameter
    }
  }
  for (const method of methods) {
    if (at.routes.has(method)) throw new Error(`two operations have the route ${method} ${path}`)
    at.routes.set(method, { target, names, hasTail, rawTail })
  }
}

function walk<T>(root: Node<T>, method: string, path: string): Match<T> {
  if (!path.startsWith('/')) return nothing
  const segments = path === '/' ? [] : path.slice(1).split('/')
  const values: string[] = []
  const found = descend(root, segments, 0, values)
  if (found === undefined) return nothing
  const route = found.routes.get(method) ?? (method === 'HEAD' ? found.routes.get('GET') : undefined)
  if (route === undefined) return { target: undefined, allow: listMethods(found) }
  return { target: route.target, parameters: decodeAll(route, values) }
}

function listMethods<T>({ routes }: Node<T>): string[] {
  const methods = new Set(routes.keys())
  if (methods.has('GET')) methods.add('HEAD')
  return [...methods].sort()
}

/** Depth-first, at most three branches a level, bounded by the declared routes (a node without children ends it). */
function descend<T>(
  at: Node<T>,
  segments: readonly string[],
  index: number,
  values: string[],
): Node<T> | undefined {
  const segment = segments[index]
  if (segment === undefined) return at.routes.size > 0 ? at : undefined
  const text = at.texts.get(segment)
  if (text !== undefined) {
    const found = descend(text, segments, index + 1, values)
    if (found !== undefined) return found
  }
  if (segment === '') return undefined
  if (at.parameter !== undefined) {
    values.push(segment)
    const found = descend(at.parameter, segments, index + 1, values)
    if (found !== undefined) return found
    values.pop()
  }
  if (at.tail !== undefined) values.push(segments.slice(index).join('/'))
  return at.tail
}

function decodeAll<T>(route: Route<T>, values: readonly string[]): Readonly<Record<string, string>> {
  const parameters: Record<string, string> = Object.create(null)
  route.names.forEach((name, index) => {
    const raw = values[index] ?? ''
    const tail = route.hasTail && index === route.names.length - 1
    parameters[name] = tail ? (route.rawTail ? raw : decodeTail(name, raw)) : decode(name, raw)
  })
  return parameters
}

function decodeTail(name: string, raw: string): string {
  const segments = raw.split('/').map((segment) => decode(name, segment))
  if (segments.some((segment) => segment === '.' || segment === '..' || segment.includes('/'))) {
    throw failure(
      'bad_request',
      `Invalid path parameter: ${name}: must not contain dot segments that leave the path.`,
    )
  }
  return segments.join('/')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression searches for control characters
const control = /[\u0000-\u001f\u007f]/

/** RFC 3986 §2.1, UTF-8, once. */
function decode(name: string, raw: string): string {
  if (!raw.includes('%')) return raw
  let text: string
  try {
    text = decodeURIComponent(raw)
  } catch (cause) {
    throw failure('bad_request', `Invalid path parameter: ${name}: is not valid percent-encoding.`, { cause })
  }
  if (control.test(text)) {
    throw failure('bad_request', `Invalid path parameter: ${name}: must not contain control characters.`)
  }
  return text
}
