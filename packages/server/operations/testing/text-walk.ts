import type { Operation } from '../types.ts'

/** A request that has a text in one of its places, and samples in all others. */
export interface HostileRequest {
  readonly operation: string
  readonly method: string
  readonly path: string
  /** JSON; undefined: no body. */
  readonly body: string | undefined
  /** Where the text is, for the message of a test. */
  readonly place: string
}

interface Structure {
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly type?: string
  readonly anyOf?: readonly Structure[]
  readonly allOf?: readonly Structure[]
  readonly items?: Structure
  readonly properties?: Readonly<Record<string, Structure>>
  readonly patternProperties?: Readonly<Record<string, Structure>>
  readonly minimum?: number
}

const marker = '@@TEXT@@'

/**
 * Requests with a text in every member, path parameter and query parameter of every operation, one at a time.
 * @param escaped the text as an escape of JSON: `\u0000`
 * @param encoded the text as percent-encoded: `%00`; undefined: it has no such form
 */
export function* requestsWithText(
  operations: readonly Operation<never>[],
  samples: Readonly<Record<string, string>>,
  escaped: string,
  encoded: string | undefined,
): Generator<HostileRequest> {
  for (const { name, route, request, pathParameters: _, queryParameters } of operations) {
    const method = route.methods.find((verb) => verb !== 'LIST') ?? 'GET'
    const parameters = [...route.path.matchAll(/\{(\w+)\**\}/g)].map(([, one]) => one ?? '')
    const pathWith = (hostile: string | undefined): string =>
      route.path.replaceAll(/\{(\w+)\**\}/g, (_all, one: string) =>
        one === hostile ? `a${encoded}` : (samples[one] ?? 'sample'),
      )
    const plain = pathWith(undefined)
    const sample = request === undefined ? undefined : JSON.stringify(createSample(request as Structure))
    const about = { operation: name, method }
    if (encoded !== undefined) {
      for (const one of parameters)
        yield { ...about, path: pathWith(one), body: sample, place: `path parameter ${one}` }
      const known = Object.keys((queryParameters as Structure | undefined)?.properties ?? {})
      for (const one of [...known, 'unknown', `na${encoded}me`])
        yield { ...about, path: `${plain}?${one}=a${encoded}`, body: sample, place: `query parameter ${one}` }
    }
    if (request === undefined) continue
    for (const { value, place } of withMarkers(request as Structure, ''))
      yield { ...about, path: plain, body: JSON.stringify(value).replaceAll(marker, `a${escaped}`), place }
  }
}

/** A value of about the right form. */
function createSample(schema: Structure): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.anyOf !== undefined) return schema.anyOf[0] && createSample(schema.anyOf[0])
  if (schema.allOf !== undefined) return Object.assign({}, ...schema.allOf.map(createSample))
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, member]) => [name, createSample(member)]),
      )
    case 'array':
      return schema.items === undefined ? [] : [createSample(schema.items)]
    case 'integer':
    case 'number':
      return schema.minimum ?? 1
    case 'boolean':
      return false
    case 'null':
      return null
    default:
      return 'sample'
  }
}

/** The sample, once for each of its texts and names of members, with a marker in its place. */
function* withMarkers(
  schema: Structure,
  at: string,
): Generator<{ readonly value: unknown; readonly place: string }> {
  for (const part of schema.anyOf ?? []) yield* withMarkers(part, at)
  if (schema.allOf !== undefined) {
    const properties = Object.assign({}, ...schema.allOf.map((part) => part.properties ?? {}))
    yield* withMarkers({ type: 'object', properties }, at)
  }
  if (schema.type === 'string' || (schema.type === undefined && schema.anyOf === undefined))
    yield { value: marker, place: `member ${at}` }
  if (schema.type === 'array' && schema.items !== undefined)
    for (const { value, place } of withMarkers(schema.items, `${at}[]`)) yield { value: [value], place }
  if (schema.type !== 'object') return
  const whole = createSample(schema) as Record<string, unknown>
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    for (const { value, place } of withMarkers(member, `${at}.${name}`))
      yield { value: { ...whole, [name]: value }, place }
  for (const member of Object.values(schema.patternProperties ?? {}))
    for (const { value, place } of withMarkers(member, `${at}.*`))
      yield { value: { ...whole, any: value }, place }
  yield { value: { ...whole, [marker]: 'sample' }, place: `name of a member of ${at}` }
}
