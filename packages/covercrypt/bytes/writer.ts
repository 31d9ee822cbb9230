/** The shortest unsigned LEB128 of a number from 0 to 2^53 - 1. */
export function leb(value: number): Uint8Array {
  const bytes: number[] = []
  let rest = value
  do {
    const group = rest % 128
    rest = Math.floor(rest / 128)
    bytes.push(rest > 0 ? group + 128 : group)
  } while (rest > 0)
  return Uint8Array.from(bytes)
}

export function text(value: string): Uint8Array {
  return bytes(Buffer.from(value, 'utf8'))
}

export function bytes(value: Uint8Array): Uint8Array {
  return join([leb(value.length), value])
}

export function list(elements: readonly Uint8Array[]): Uint8Array {
  return join([leb(elements.length), ...elements])
}

export function join(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}
