/**
 * Parses JSON of a token or key set as strictly as security needs: valid UTF-8, an object, no member twice at any
 * depth (a second `iss` or `alg` must not win over the first), bounded depth.
 * @returns undefined when it is anything else
 */
export function parseStrictObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  let text: string
  let value: unknown
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const written = countMembers(text)
  if (written === undefined || written !== countParsed(value)) return undefined
  return value as Readonly<Record<string, unknown>>
}

const deepest = 16

/** Members as written: colons outside of strings. undefined when nested too deep. */
function countMembers(text: string): number | undefined {
  let members = 0
  let depth = 0
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === 0x22) {
      for (index += 1; index < text.length && text.charCodeAt(index) !== 0x22; index += 1) {
        if (text.charCodeAt(index) === 0x5c) index += 1
      }
    } else if (code === 0x3a) {
      members += 1
    } else if (code === 0x7b || code === 0x5b) {
      depth += 1
      if (depth > deepest) return undefined
    } else if (code === 0x7d || code === 0x5d) {
      depth -= 1
    }
  }
  return members
}

/** Members as parsed: of several with one name only one is left. */
function countParsed(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const children = Object.values(value)
  let members = Array.isArray(value) ? 0 : children.length
  for (const child of children) members += countParsed(child)
  return members
}
