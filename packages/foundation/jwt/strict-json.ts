// Not by way of the folder's index, which would load the whole server.
import { parseJsonBody } from '../http/json-body.ts'

const deepest = 16

/**
 * Parses JSON of a token or key set as strictly as security needs: an object, and beyond what `parseJsonBody` asks
 * for (valid UTF-8, no member twice at any depth, so that a second `iss` or `alg` never wins over the first; no
 * `__proto__`) at most 16 levels deep and no member name written with an escape: no issuer needs one, and the
 * engine's JSON.parse has read such names wrongly.
 * @returns undefined when it is anything else
 */
export function parseStrictObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  if (!isPlain(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))) return undefined
  let value: unknown
  try {
    value = parseJsonBody(bytes)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return value as Readonly<Record<string, unknown>>
}

/** Whether it is nested no deeper than allowed and no string before a colon holds a backslash. */
function isPlain(bytes: Buffer): boolean {
  let depth = 0
  let escaped = false
  for (let index = 0; index < bytes.length; index += 1) {
    switch (bytes[index]) {
      case 0x22: // "
        escaped = false
        for (index += 1; index < bytes.length && bytes[index] !== 0x22; index += 1) {
          if (bytes[index] !== 0x5c) continue
          escaped = true
          index += 1
        }
        break
      case 0x3a: // :
        if (escaped) return false
        break
      case 0x7b: // {
      case 0x5b: // [
        depth += 1
        if (depth > deepest) return false
        break
      case 0x7d: // }
      case 0x5d: // ]
        depth -= 1
        break
      default:
    }
  }
  return true
}
