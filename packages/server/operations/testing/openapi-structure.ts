import type { Json } from '../openapi.ts'

type JsonObject = { readonly [name: string]: Json }

const types = new Set(['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'])

/**
 * Checks the structure of an OpenAPI 3.1 document as far as ours goes: references resolve, operationIds are unique,
 * path parameters are declared and nothing else is, every response has a description, schemas use the keywords of
 * JSON Schema 2020-12 in their right form. Returns one sentence for each problem.
 */
export function findProblems(document: Json): readonly string[] {
  const problems: string[] = []
  const root = object(document)
  if (!/^3\.1\.\d+$/.test(String(root.openapi))) problems.push('openapi: is not 3.1')
  references(document, root, problems)
  const ids = new Set<Json>()
  for (const [path, item] of Object.entries(object(root.paths))) {
    for (const [method, value] of Object.entries(object(item))) {
      const at = `${method} ${path}`
      const operation = object(value)
      const id = operation.operationId ?? null
      if (typeof id !== 'string' || ids.has(id)) problems.push(`${at}: operationId is missing or repeated`)
      ids.add(id)
      parameters(at, path, operation, problems)
      responses(at, object(operation.responses), problems)
      for (const media of Object.values(object(object(operation.requestBody).content))) {
        schema(at, object(media).schema, problems)
      }
      for (const needed of array(operation.security)) {
        for (const name of Object.keys(object(needed))) {
          const schemes = object(object(root.components).securitySchemes)
          if (!Object.hasOwn(schemes, name)) problems.push(`${at}: security scheme ${name} is not declared`)
        }
      }
    }
  }
  return problems
}

function references(value: Json, root: JsonObject, problems: string[]): void {
  if (Array.isArray(value)) {
    for (const item of value) references(item, root, problems)
    return
  }
  for (const [name, member] of Object.entries(object(value))) {
    if (name !== '$ref') {
      references(member, root, problems)
      continue
    }
    const steps = String(member).split('/')
    let target: Json | undefined = steps[0] === '#' ? root : undefined
    for (const step of steps.slice(1)) target = object(target)[step]
    if (target === undefined) problems.push(`${String(member)}: dangling reference`)
  }
}

function parameters(at: string, path: string, operation: JsonObject, problems: string[]): void {
  const inPath = [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1])
  const declared: Json[] = []
  for (const value of array(operation.parameters)) {
    const parameter = object(value)
    schema(at, parameter.schema, problems)
    if (parameter.in !== 'path') continue
    declared.push(parameter.name ?? null)
    if (parameter.required !== true) problems.push(`${at}: a path parameter must be required`)
  }
  if (JSON.stringify(declared) !== JSON.stringify(inPath))
    problems.push(`${at}: parameter list differs from the path`)
}

function responses(at: string, found: JsonObject, problems: string[]): void {
  if (Object.keys(found).length === 0) problems.push(`${at}: no responses`)
  for (const [status, value] of Object.entries(found)) {
    const response = object(value)
    if (!/^[1-5]\d\d$/.test(status)) problems.push(`${at}: ${status} is no status`)
    if (typeof response.description !== 'string') problems.push(`${at}: ${status} has no description`)
    for (const media of Object.values(object(response.content))) schema(at, object(media).schema, problems)
  }
}

function schema(at: string, value: Json | undefined, problems: string[]): void {
  if (value === undefined || typeof value === 'boolean') return
  const found = object(value)
  for (const type of typeof found.type === 'string' ? [found.type] : array(found.type)) {
    if (!types.has(String(type))) problems.push(`${at}: ${String(type)} is no type`)
  }
  for (const name of ['properties', 'patternProperties', '$defs']) {
    for (const member of Object.values(object(found[name]))) schema(at, member, problems)
  }
  for (const name of ['items', 'additionalProperties', 'not', 'propertyNames'])
    schema(at, found[name], problems)
  for (const name of ['anyOf', 'oneOf', 'allOf', 'prefixItems']) {
    for (const member of array(found[name])) schema(at, member, problems)
  }
  if (found.required !== undefined && !array(found.required).every((name) => typeof name === 'string')) {
    problems.push(`${at}: required is not a list of names`)
  }
  if (typeof found.pattern === 'string') {
    try {
      new RegExp(found.pattern, 'u')
    } catch {
      problems.push(`${at}: ${found.pattern} is no pattern`)
    }
  }
}

function object(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}

function array(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}
