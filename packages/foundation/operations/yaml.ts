import type { Json } from './openapi.ts'

/**
 * Writes a JSON value as YAML 1.2 (block style). Text that any YAML reader could take for something else is written
 * as a JSON string, which is YAML too (YAML 1.2 §1.3).
 */
export function toYaml(value: Json): string {
  return `${node(value, 0).replace(/^\n/, '')}\n`
}

function node(value: Json, depth: number): string {
  if (Array.isArray(value)) return value.length === 0 ? ' []' : sequence(value, depth)
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value as Readonly<Record<string, Json>>)
    return entries.length === 0 ? ' {}' : mapping(entries, depth)
  }
  return ` ${typeof value === 'string' ? scalar(value) : JSON.stringify(value)}`
}

function mapping(entries: readonly (readonly [string, Json])[], depth: number): string {
  const indent = '  '.repeat(depth)
  return entries.map(([name, value]) => `\n${indent}${scalar(name)}:${node(value, depth + 1)}`).join('')
}

function sequence(items: readonly Json[], depth: number): string {
  const indent = '  '.repeat(depth)
  return items
    .map((item) => {
      const text = node(item, depth + 1)
      // A mapping or sequence starts on the line of its dash.
      return `\n${indent}-${text.startsWith('\n') ? ` ${text.trimStart()}` : text}`
    })
    .join('')
}

const plainText = /^[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./()-]+)*$/
/** Words that YAML 1.1 or 1.2 readers take for a boolean or null. */
const reserved = /^(?:true|false|null|yes|no|on|off|y|n)$/i

function scalar(text: string): string {
  return plainText.test(text) && !reserved.test(text) ? text : quote(text)
}

/** JSON leaves DEL, C1 controls and line separators as they are; YAML 1.2 §5.1 wants some escaped. */
function quote(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
