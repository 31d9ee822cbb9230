import type { CellValue } from '../../parts/table-text.ts'

// The description that each service has of itself (`GET /openapi.json`), and examples out of it.

export interface Schema {
  readonly type?: string
  readonly const?: unknown
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly minimum?: number
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
}

interface DescribedOperation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content & { readonly description: string }>>
}

export interface Description {
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>
}

export interface ApiOperation extends DescribedOperation {
  /** In capitals. */
  readonly method: string
  readonly path: string
}

/** All operations, in the order of the description. */
export function listOperations({ paths }: Description): readonly ApiOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )
}

/** The operations that match all words, by tag. */
export function groupOperations(
  operations: readonly ApiOperation[],
  search: string,
): ReadonlyMap<string, readonly ApiOperation[]> {
  const words = search.toLowerCase().split(/\s+/)
  const groups = new Map<string, ApiOperation[]>()
  for (const operation of operations) {
    const { method, path, summary, operationId, tags } = operation
    const text = `${method} ${path} ${summary} ${operationId}`.toLowerCase()
    if (!words.every((word) => text.includes(word))) continue
    const group = groups.get(tags[0] ?? '') ?? []
    groups.set(tags[0] ?? '', [...group, operation])
  }
  return groups
}

/** The schema of the JSON body of a request or a reply. */
export function findJsonSchema(content: Content | undefined): Schema | undefined {
  return content?.content?.['application/json']?.schema
}

/** Values for members by their names, so that an example works as it is. */
export type ExampleValues = Readonly<Record<string, string>>

const maxDepth = 6

/** The smallest value that a schema permits: members that are not required are omitted. */
export function createExample(schema: Schema | undefined, values: ExampleValues, depth = 0): unknown {
  if (schema === undefined || depth > maxDepth) return null
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  if (schema.enum !== undefined) return schema.enum[0]
  const [choice] = schema.anyOf ?? schema.oneOf ?? []
  if (choice !== undefined) return createExample(choice, values, depth + 1)
  switch (schema.type) {
    case 'array':
      return []
    case 'object':
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [
          name,
          values[name] ?? createExample(schema.properties?.[name], values, depth + 1),
        ]),
      )
    case 'integer':
    case 'number':
      return schema.minimum ?? 0
    case 'boolean':
      return false
    case 'string':
      return ''
    default:
      return null
  }
}

/** Path and query of a request. @param values of its parameters, by name; empty ones are omitted */
export function toTarget(
  { path, parameters = [] }: ApiOperation,
  values: Readonly<Record<string, string>>,
): string {
  const query = new URLSearchParams()
  let target = path
  for (const { name, in: where } of parameters) {
    const value = values[name] ?? ''
    if (where === 'path') target = target.replace(new RegExp(`\\{${name}\\*?\\}`), encodeURIComponent(value))
    else if (where === 'query' && value !== '') query.set(name, value)
  }
  return query.size === 0 ? target : `${target}?${query}`
}

/** One row of the members of a schema. */
export interface Member {
  readonly name: string
  readonly type: string
  readonly isRequired: boolean
  readonly description: CellValue
}

export function listMembers(schema: Schema | undefined): readonly Member[] {
  const { properties = {}, required = [] } = schema ?? {}
  return Object.entries(properties).map(([name, member]) => ({
    name,
    type: formatType(member),
    isRequired: required.includes(name),
    description: (member as { readonly description?: string }).description ?? '',
  }))
}

function formatType({ type, enum: values, const: only, anyOf, oneOf }: Schema): string {
  if (only !== undefined) return JSON.stringify(only)
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(' | ')
  const choices = anyOf ?? oneOf
  return choices === undefined ? (type ?? 'any') : [...new Set(choices.map(formatType))].join(' | ')
}
