const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
const none = -1

/**
 * Whether bytes have the structure of a JSON text (RFC 8259 §2 to §7); what is in strings is left to `JSON.parse`. It reads
 * them as they are: `JSON.parse` needs a text of the same length, which a large body that is refused leaves to the garbage
 * collector, with an error that keeps it.
 */
export function hasJsonStructure(bytes: Uint8Array): boolean {
  const closing: number[] = []
  for (let at = blanksEnd(bytes, 0); ; ) {
    // A value is expected.
    const first = bytes[at]
    if (first === openBrace || first === openBracket) {
      const close = first === openBrace ? closeBrace : closeBracket
      at = blanksEnd(bytes, at + 1)
      if (bytes[at] !== close) {
        closing.push(close)
        if (close === closeBrace) at = nameEnd(bytes, at)
        if (at === none) return false
        continue
      }
      at++
    } else at = scalarEnd(bytes, at)
    if (at === none) return false
    // Behind a value: its containers end, or another value follows.
    for (;;) {
      at = blanksEnd(bytes, at)
      const close = closing.at(-1)
      if (close === undefined) return at === bytes.length
      if (bytes[at] === comma) break
      if (bytes[at] !== close) return false
      closing.pop()
      at++
    }
    at = blanksEnd(bytes, at + 1)
    if (closing.at(-1) === closeBrace) at = nameEnd(bytes, at)
    if (at === none) return false
  }
}

function blanksEnd(bytes: Uint8Array, start: number): number {
  for (let at = start; ; at++) {
    const byte = bytes[at]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at
  }
}

/** Behind the colon of a member. */
function nameEnd(bytes: Uint8Array, start: number): number {
  if (bytes[start] !== quote) return none
  const name = stringEnd(bytes, start)
  if (name === none) return none
  const at = blanksEnd(bytes, name)
  return bytes[at] === colon ? blanksEnd(bytes, at + 1) : none
}

function scalarEnd(bytes: Uint8Array, at: number): number {
  switch (bytes[at]) {
    case quote:
      return stringEnd(bytes, at)
    case 0x74:
      return wordEnd(bytes, at, 'true')
    case 0x66:
      return wordEnd(bytes, at, 'false')
    case 0x6e:
      return wordEnd(bytes, at, 'null')
    default:
      return numberEnd(bytes, at)
  }
}

function wordEnd(bytes: Uint8Array, start: number, word: string): number {
  for (let index = 0; index < word.length; index++)
    if (bytes[start + index] !== word.charCodeAt(index)) return none
  return start + word.length
}

function stringEnd(bytes: Uint8Array, start: number): number {
  const end = endOfString(bytes, start + 1)
  return end < bytes.length ? end + 1 : none
}

/**
 * Index of the closing quote. Short strings byte by byte, long ones (base64) by native search, which is too dear to be
 * asked again for each of many escaped quotes.
 */
export function endOfString(bytes: Uint8Array, start: number): number {
  for (let index = start; ; ) {
    const near = Math.min(bytes.length, index + 128)
    for (; index < near; index++) {
      const byte = bytes[index]
      if (byte === quote) return index
      if (byte === backslash) index++
    }
    const end = bytes.indexOf(quote, index)
    if (end === -1) return bytes.length
    let slashes = 0
    while (end - 1 - slashes >= index && bytes[end - 1 - slashes] === backslash) slashes++
    if (slashes % 2 === 0) return end
    index = end + 1
  }
}

function isDigit(byte = 0): boolean {
  return byte >= 0x30 && byte <= 0x39
}

function digitsEnd(bytes: Uint8Array, start: number): number {
  let at = start
  while (isDigit(bytes[at])) at++
  return at === start ? none : at
}

function numberEnd(bytes: Uint8Array, start: number): number {
  let at = bytes[start] === 0x2d ? start + 1 : start
  // No zero before other digits.
  at = bytes[at] === 0x30 ? at + 1 : digitsEnd(bytes, at)
  if (at !== none && bytes[at] === 0x2e) at = digitsEnd(bytes, at + 1)
  if (at !== none && (bytes[at] === 0x65 || bytes[at] === 0x45)) {
    const sign = bytes[at + 1]
    at = digitsEnd(bytes, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1)
  }
  return at
}
