import {
  comment,
  formatType,
  type Json,
  type JsonObject,
  memberName,
  quote,
  toObject,
} from './schema-type.ts'

const jsonType = /^application\/(?:[\w.+-]+\+)?json$/

interface Described {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly operation: JsonObject
}

/**
 * Generates the source text of the client's types: one interface member per operation with its path and query
 * parameters, body and reply, and a table of routes. Operations that do not answer with JSON (pages, the document
 * itself) are omitted. The same document yields the same text, so that a check can compare it.
 * @param document an OpenAPI 3.1 document
 * @param service name of the service, for the first line
 * @param wanted selects operations by name
 * @throws Error when the document contains something that this generator cannot express
 */
export function clientTypes(document: Json, service: string, wanted = (_name: string) => true): string {
  const root = toObject(document)
  if (!/^3\.1\./.test(String(root.openapi))) throw new Error('the document is not OpenAPI 3.1')
  const operations = [...listOperations(root)]
    .filter(({ name }) => wanted(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  if (operations.length === 0) throw new Error('the document has no operation with a JSON response')
  const schemas = Object.entries(toObject(toObject(root.components).schemas)).map(
    ([name, schema]) =>
      `${comment(toObject(schema).description, '')}export interface ${name}Schema ${formatType(schema)}\n`,
  )
  return [
    `// Generated from the OpenAPI document of the ${service}: change the declarations there, then run
// npm run docs
`,
    ...schemas,
    `/** By operationId: what goes in (\`path\`, \`query\`, \`body\`) and what comes back (\`reply\`). */
export interface Operations {
${operations.map(operationType).join('')}}
`,
    `/** Path and method of each operation. */
export const routes = {
${operations.map(({ name, method, path }) => `  ${memberName(name)}: { method: ${quote(method)}, path: ${quote(path)} },\n`).join('')}} as const
`,
  ].join('\n')
}

function* listOperations(root: JsonObject): Generator<Described> {
  const seen = new Set<string>()
  for (const [path, item] of Object.entries(toObject(root.paths))) {
    for (const [method, value] of Object.entries(toObject(item))) {
      const operation = toObject(value)
      const name = operation.operationId
      if (typeof name !== 'string' || seen.has(name))
        throw new Error(`${method} ${path} has no name of its own`)
      seen.add(name)
      if (listSuccesses(operation).length > 0) yield { name, method: method.toUpperCase(), path, operation }
    }
  }
}

/** Lists the success responses that are JSON or have no body. */
function listSuccesses(operation: JsonObject): readonly { readonly reply: Json | undefined }[] {
  const successes = Object.entries(toObject(operation.responses)).filter(([status]) => status.startsWith('2'))
  return successes.flatMap(([, success]): { readonly reply: Json | undefined }[] => {
    const content = Object.entries(toObject(toObject(success).content))
    if (content.length === 0) return [{ reply: undefined }]
    const [json] = content.filter(([type]) => jsonType.test(type))
    const schema = toObject(json?.[1]).schema
    return schema === undefined ? [] : [{ reply: schema }]
  })
}

function operationType({ name, operation }: Described): string {
  const lines: string[] = []
  for (const place of ['path', 'query'] as const) {
    const members = parametersIn(place, operation)
    if (members.length === 0) continue
    const optional = members.every(({ required }) => required !== true) ? '?' : ''
    lines.push(`    readonly ${place}${optional}: {\n${members.map(parameterType).join('')}    }\n`)
  }
  const body = toObject(operation.requestBody)
  const [media] = Object.values(toObject(body.content))
  if (media !== undefined) {
    const mark = body.required === true ? '' : '?'
    lines.push(`    readonly body${mark}: ${formatType(toObject(media).schema, '    ')}\n`)
  }
  const replies = listSuccesses(operation).map(({ reply }) =>
    reply === undefined ? 'undefined' : formatType(reply, '    '),
  )
  lines.push(`    readonly reply: ${replies.join(' | ')}\n`)
  if (isPaged(operation)) lines.push('    readonly paged: true\n')
  return `${comment(operation.summary, '  ')}  readonly ${memberName(name)}: {\n${lines.join('')}  }\n`
}

/** Whether a successful reply contains the cursor of the next page. */
function isPaged(operation: JsonObject): boolean {
  const [success] = Object.entries(toObject(operation.responses)).filter(([status]) => status.startsWith('2'))
  return toObject(toObject(success?.[1]).headers)['X-Next-After'] !== undefined
}

function parametersIn(place: 'path' | 'query', operation: JsonObject): readonly JsonObject[] {
  const all = Array.isArray(operation.parameters) ? (operation.parameters as readonly Json[]) : []
  return all.map((parameter) => toObject(parameter)).filter((parameter) => parameter.in === place)
}

function parameterType(parameter: JsonObject): string {
  const name = parameter.name
  if (typeof name !== 'string') throw new Error('a parameter has no name')
  const mark = parameter.required === true ? '' : '?'
  const about = comment(toObject(parameter.schema).description, '      ')
  return `${about}      readonly ${memberName(name)}${mark}: ${formatType(parameter.schema, '      ')}\n`
}
