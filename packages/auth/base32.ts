const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** RFC 4648 §6 without padding, as authenticator apps expect it. */
export function toBase32(bytes: Uint8Array): string {
  let text = ''
  let buffer = 0
  let bits = 0
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += alphabet[(buffer >>> bits) & 31]
    }
    buffer &= (1 << bits) - 1
  }
  if (bits > 0) text += alphabet[(buffer << (5 - bits)) & 31]
  return text
}

/** Decodes a canonical base32 text (padding allowed, case ignored); undefined for any other text. */
export function fromBase32(text: string): Uint8Array | undefined {
  const plain = text.replace(/=+$/, '').toUpperCase()
  const bytes: number[] = []
  let buffer = 0
  let bits = 0
  for (const letter of plain) {
    const value = alphabet.indexOf(letter)
    if (value === -1) return undefined
    buffer = (buffer << 5) | value
    bits += 5
    if (bits >= 8) {
      bits -= 8
      bytes.push((buffer >>> bits) & 255)
    }
    buffer &= (1 << bits) - 1
  }
  const result = Uint8Array.from(bytes)
  return toBase32(result) === plain ? result : undefined
}
