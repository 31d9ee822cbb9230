import { setImmediate } from 'node:timers/promises'
import { type ErrorKindRow, errorKinds } from '@warder/base'
import { pathSegments } from './define.ts'
import { withNullMembers } from './null-members.ts'
import type { ForeignMembers, HttpMethod, Operation } from './types.ts'

/** A JSON value; the document contains no other values. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }
type JsonObject = { readonly [name: string]: Json }

/** A way to authenticate, as OpenAPI 3.1 §4.8.27 describes it, e.g. `{ type: 'http', scheme: 'bearer' }`. */
export type SecurityScheme = JsonObject

interface DocumentOptions {
  readonly title: string
  readonly version: string
  readonly serverUrl: string
  readonly description?: string
  readonly operations: readonly Operation<never>[]
  readonly credentials?: DocumentedCredentials
}

/** Security schemes of callers. */
export interface DocumentedCredentials {
  /** By name; those that no operation uses are omitted from the document. */
  readonly schemes: Readonly<Record<string, SecurityScheme>>
  /** Names of those that the service's authenticator accepts. An operation with one of its own names them itself. */
  readonly service: readonly string[]
}

/** Statuses that every operation can answer besides its own. */
const commonStatuses: readonly number[] = [400, 429, 500, 503]
const waitHeaders: JsonObject = {
  'Retry-After': {
    description: 'Seconds to wait before the next attempt.',
    schema: { type: 'integer', minimum: 1 },
  },
}

/**
 * The OpenAPI 3.1 document of a table of operations: plain JSON, ready for `JSON.stringify` or `toYaml`. Everything
 * in it comes from the declarations that the dispatcher enforces.
 */
export function openApiDocument(options: DocumentOptions): JsonObject {
  const paths: Record<string, Record<string, Json>> = {}
  const { schemes = {}, service = [] } = options.credentials ?? {}
  const used = new Set<string>()
  for (const operation of options.operations) {
    const path = operation.route.path.replace(/\{([^}*]+)\*+\}/, '{$1}')
    for (const [index, method] of operation.route.methods.entries()) {
      // OpenAPI 3.1 §4.8.9 has a fixed list of verbs: the description of GET documents it.
      if (method === 'LIST') continue
      const item = paths[path] ?? {}
      const taken = listSchemes(operation, service)
      for (const name of taken) {
        if (options.credentials !== undefined && schemes[name] === undefined)
          throw new Error(`${operation.name} uses ${name}, which is not a security scheme`)
        used.add(name)
      }
      item[method.toLowerCase()] = describeOperation(operation, method, index, taken)
      paths[path] = item
    }
  }
  const tags = [...new Set(options.operations.map((operation) => operation.tag))].sort()
  return {
    openapi: '3.1.0',
    info: {
      title: options.title,
      version: options.version,
      ...(options.description !== undefined && { description: options.description }),
    },
    servers: [{ url: options.serverUrl }],
    tags: tags.map((name) => ({ name })),
    paths,
    components: {
      schemas: { Error: errorSchema() },
      securitySchemes: Object.fromEntries(Object.entries(schemes).filter(([name]) => used.has(name))),
    },
  }
}

function describeOperation(
  operation: Operation<never>,
  method: HttpMethod,
  index: number,
  taken: readonly string[],
): JsonObject {
  const described: Record<string, Json> = {
    // An operationId is unique: the first method has the audit name itself.
    operationId: index === 0 ? operation.name : `${operation.name}.${method.toLowerCase()}`,
    summary: operation.summary,
    description: [operation.description, describeListVerb(operation), `Access: ${operation.access.name}.`]
      .filter(Boolean)
      .join('\n\n'),
    tags: [operation.tag],
    security: taken.map((name) => ({ [name]: [] })),
    responses: responses(operation, method),
  }
  const parameters = [...pathParameters(operation), ...queryParameters(operation)]
  if (parameters.length > 0) described.parameters = parameters
  if (operation.request !== undefined) {
    described.requestBody = {
      required: operation.bodyOptional !== true,
      content: { 'application/json': { schema: bodySchema(operation.request, operation.foreignMembers) } },
    }
  }
  return described
}

/** Names of the schemes of an operation, any one of which is enough. */
function listSchemes({ security, access }: Operation<never>, service: readonly string[]): readonly string[] {
  if (security !== undefined) return security
  if (access.public === true) return access.credentials ?? []
  return access.credentials?.filter((name) => service.includes(name)) ?? service
}

/** The schema of a body: optional members may be null, and others than the declared ones are refused. */
function bodySchema(request: unknown, foreign: ForeignMembers | undefined): Json {
  const published = withNullMembers(plain(request))
  return foreign === undefined ? closeSchema(published) : published
}

function closeSchema(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closeSchema)
  if (!isObject(schema)) return schema
  if (Array.isArray(schema.allOf)) {
    const { allOf, ...rest } = schema
    // JSON Schema 2020-12 §11.3: each part alone would refuse the members of the others.
    return { ...rest, allOf: allOf.map(closeNestedSchemas), unevaluatedProperties: false }
  }
  const copy = closeNestedSchemas(schema)
  const isClosed =
    isObject(schema.properties) &&
    schema.additionalProperties === undefined &&
    schema.patternProperties === undefined
  return isClosed ? { ...copy, additionalProperties: false } : copy
}

function closeNestedSchemas(schema: Json): JsonObject {
  const copy: Record<string, Json> = { ...(schema as JsonObject) }
  for (const keyword of ['properties', 'patternProperties'])
    if (isObject(copy[keyword]))
      copy[keyword] = Object.fromEntries(
        Object.entries(copy[keyword]).map(([name, member]) => [name, closeSchema(member)]),
      )
  for (const keyword of ['items', 'anyOf', 'oneOf'])
    if (copy[keyword] !== undefined) copy[keyword] = closeSchema(copy[keyword])
  return copy
}

function describeListVerb({ route }: Operation<never>): string | undefined {
  return route.methods.includes('LIST') ? 'The method LIST is also accepted.' : undefined
}

function pathParameters(operation: Operation<never>): readonly JsonObject[] {
  const properties = readMembers(operation.pathParameters)
  return pathSegments(operation.route.path)
    .filter((segment) => segment.kind !== 'text')
    .map(({ value }) => ({
      name: value,
      in: 'path',
      required: true,
      schema: properties[value] ?? { type: 'string' },
    }))
}

function queryParameters(operation: Operation<never>): readonly JsonObject[] {
  if (operation.queryParameters === undefined) return []
  const schema = plain(operation.queryParameters)
  const required = isObject(schema) && Array.isArray(schema.required) ? schema.required : []
  return Object.entries(readMembers(operation.queryParameters)).map(([name, member]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema: member,
  }))
}

function responses(operation: Operation<never>, method: HttpMethod): JsonObject {
  const success = operation.status ?? 200
  const found: Record<string, Json> = { [success]: successResponse(operation, success) }
  for (const [status, { description, reply }] of Object.entries(operation.otherReplies ?? {}))
    found[status] = { description, content: { 'application/json': { schema: plain(reply) } } }
  const declared = operation.errors ?? {}
  const guarded = operation.access.public === true ? [] : [401, 403]
  // A body of GET means nothing (RFC 9110 §9.3.1), though one that is too large is refused there, too.
  const tooLarge = method === 'GET' || method === 'HEAD' ? [] : [413]
  const notJson = operation.request === undefined || operation.anyContentType === true ? [] : [415]
  for (const status of [
    ...commonStatuses,
    ...guarded,
    ...tooLarge,
    ...notJson,
    ...Object.keys(declared).map(Number),
  ]) {
    if (status === success) continue
    found[status] = {
      description: declared[status] ?? describeStatus(status),
      ...((status === 429 || status === 503) && { headers: waitHeaders }),
      content: errorContent(operation),
    }
  }
  return found
}

const pageHeaders = {
  'X-Next-After': {
    description:
      'Value of `after` (for versions `before`) for the next page, percent-encoded; absent on the last page.',
    schema: { type: 'string' },
  },
}

function errorContent({ errorShape }: Operation<never>): JsonObject {
  const own = errorShape?.documented
  if (own === undefined) return { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }
  return { [own.contentType]: own.schema === undefined ? {} : { schema: plain(own.schema) } }
}

function successResponse(operation: Operation<never>, status: number): JsonObject {
  const description = status === 204 ? 'Success; no body.' : 'Success.'
  if (status === 204 || (operation.reply === undefined && operation.replyContentType === undefined)) {
    return { description }
  }
  const schema = operation.reply === undefined ? {} : { schema: plain(operation.reply) }
  const content = { [operation.replyContentType ?? 'application/json']: schema }
  return { description, ...(operation.paged && { headers: pageHeaders }), content }
}

function describeStatus(status: number): string {
  const rows: readonly ErrorKindRow[] = Object.values(errorKinds)
  return rows.find((row) => row.status === status)?.sentence ?? 'Another answer.'
}

function errorSchema(): JsonObject {
  return {
    type: 'object',
    description: 'The error: a kind for programs and a sentence for users.',
    required: ['error', 'description'],
    properties: {
      error: { type: 'string', enum: Object.keys(errorKinds) },
      description: { type: 'string' },
      request_id: { type: 'string', description: 'On 5xx: identifies the log entry with the detail.' },
      errors: { type: 'array', items: { type: 'string' }, description: 'For Vault-compatible clients.' },
    },
  }
}

function readMembers(schema: unknown): JsonObject {
  if (schema === undefined) return {}
  const value = plain(schema)
  return isObject(value) && isObject(value.properties) ? value.properties : {}
}

/** A schema without the internal marks of TypeBox. */
function plain(schema: unknown): Json {
  const text = JSON.stringify(schema, (name, value: unknown) => (name.startsWith('~') ? undefined : value))
  return JSON.parse(text) as Json
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `compat`: text such as `yes`, which readers of YAML 1.1 read as a boolean, is quoted. */
const options = { aliasDuplicateObjects: false, compat: 'yaml-1.1', lineWidth: 0 } as const

/**
 * Writes a document as YAML 1.2 (block style). The library takes 0.4 s and 100 MiB for all of the key management service's
 * description at once. It is therefore loaded at the first use, and writes one path at a time, with other events between.
 */
export async function toYaml(document: Readonly<Record<string, Json>>): Promise<string> {
  const { stringify } = await import('yaml')
  let text = ''
  for (const [name, value] of Object.entries(document)) {
    const members = typeof value === 'object' && !Array.isArray(value) ? Object.entries(value ?? {}) : []
    if (members.length === 0) text += stringify({ [name]: value }, options)
    else text += `${JSON.stringify(name)}:\n`
    for (const [member, content] of members) {
      await setImmediate()
      const lines = stringify({ [member]: content }, options).slice(0, -1)
      text += `  ${lines.replaceAll('\n', '\n  ')}\n`
    }
  }
  return text
}
