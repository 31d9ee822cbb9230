/** A JSON value in an OpenAPI document. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }
export type JsonObject = { readonly [name: string]: Json }

const deepest = 32

/**
 * Returns the TypeScript type of a JSON Schema (2020-12), for the keywords that the services use. Keywords that
 * TypeScript cannot express (pattern, maxLength) are left to the service.
 * @throws Error for an unsupported schema: the types must not be silently wrong
 */
export function formatType(schema: Json | undefined, indent = '', depth = 0): string {
  if (depth > deepest) throw new Error('a schema is nested too deeply')
  const found = toObject(schema)
  const next = (inner: Json | undefined, more = indent): string => formatType(inner, more, depth + 1)
  if (typeof found.$ref === 'string') return referenceName(found.$ref)
  if (found.const !== undefined) return literal(found.const)
  if (Array.isArray(found.enum)) return union(found.enum.map(literal))
  if (Array.isArray(found.anyOf)) return union(found.anyOf.map((member: Json) => next(member)))
  if (Array.isArray(found.allOf)) return intersection(found.allOf.map((member: Json) => next(member)))
  switch (found.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return found.type
    case 'integer':
    case 'number':
      return 'number'
    case 'array': {
      const item = toObject(found.items)
      const several =
        ['anyOf', 'allOf', 'enum'].some((name) => item[name] !== undefined) || item.type === 'array'
      return several ? `readonly (${next(item)})[]` : `readonly ${next(item)}[]`
    }
    case 'object':
      return objectType(found, indent, next)
    case undefined:
      if (Object.keys(found).every((name) => name === 'description')) return 'unknown'
      break
  }
  throw new Error(`no type is known for the schema ${JSON.stringify(schema)}`)
}

function objectType(
  schema: JsonObject,
  indent: string,
  next: (inner: Json | undefined, indent?: string) => string,
): string {
  const rest = Object.values(toObject(schema.patternProperties))
  if (typeof schema.additionalProperties === 'object') rest.push(schema.additionalProperties)
  const members = Object.entries(toObject(schema.properties))
  if (members.length === 0) {
    const [values] = rest
    return `Readonly<Record<string, ${values === undefined ? 'unknown' : next(values)}>>`
  }
  const required = Array.isArray(schema.required) ? schema.required : []
  const inner = `${indent}  `
  const lines = members.map(([name, member]) => {
    const mark = required.includes(name) ? '' : '?'
    return `${comment(toObject(member).description, inner)}${inner}readonly ${memberName(name)}${mark}: ${next(member, inner)}\n`
  })
  return `{\n${lines.join('')}${indent}}`
}

/** Formats a documentation comment of one line, or the empty text. */
export function comment(text: Json | undefined, indent: string): string {
  if (typeof text !== 'string' || text === '') return ''
  // A text of the document must not end the comment and continue as code.
  return `${indent}/** ${text.replaceAll('*/', '* /').replace(/\s+/g, ' ')} */\n`
}

/** Formats the name of a member as source text. */
export function memberName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name)
}

/** Formats a text as a single-quoted literal. */
export function quote(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

export function toObject(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}

function literal(value: Json): string {
  return typeof value === 'string' ? quote(value) : JSON.stringify(value)
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ')
}

function intersection(types: readonly string[]): string {
  return types.map((type) => (type.includes(' | ') ? `(${type})` : type)).join(' & ')
}

function referenceName(reference: string): string {
  const name = /^#\/components\/schemas\/([A-Za-z]\w*)$/.exec(reference)?.[1]
  if (name === undefined) throw new Error(`${reference} is not a schema of the document`)
  return `${name}Schema`
}
