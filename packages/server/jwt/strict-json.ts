// Not by way of the folder's index, which would load the whole server.
import { type JsonLimits, parseStrictJson } from '../http/json-body.ts'

const limits: JsonLimits = { maxDepth: 16, escapedNames: false }

/**
 * Parses JSON of a token or key set as strictly as security needs: an object, and beyond what `parseJsonBody` asks
 * for (valid UTF-8, no member twice at any depth, so that a second `iss` or `alg` never wins over the first; no
 * `__proto__`) at most 16 levels deep and no member name written with an escape: no issuer needs one, and the
 * engine's JSON.parse has read such names wrongly.
 * @returns undefined when it is anything else
 */
export function parseStrictObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  let value: unknown
  try {
    value = parseStrictJson(bytes, limits)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return value as Readonly<Record<string, unknown>>
}
