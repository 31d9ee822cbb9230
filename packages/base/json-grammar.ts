const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
const none = -1

/** A text as bytes, and as words of four from index `wordsFrom` on. */
interface Text {
  readonly bytes: Uint8Array
  readonly words: Int32Array
  readonly wordsFrom: number
}

function toText(bytes: Uint8Array): Text {
  const wordsFrom = -bytes.byteOffset & 3
  const count = Math.max(0, bytes.length - wordsFrom) >> 2
  return { bytes, words: new Int32Array(bytes.buffer, bytes.byteOffset + wordsFrom, count), wordsFrom }
}

/**
 * Whether well-formed UTF-8 is a JSON text (RFC 8259 §2 to §7): exactly what `JSON.parse` accepts. It reads the bytes as
 * they are: `JSON.parse` needs a text of the same length and makes an error that keeps it, and both stay until the garbage
 * collector runs.
 */
export function isJsonText(bytes: Uint8Array): boolean {
  const text = toText(bytes)
  const closing: number[] = []
  for (let at = blanksEnd(bytes, 0); ; ) {
    // A value is expected.
    const first = bytes[at]
    if (first === openBrace || first === openBracket) {
      const close = first === openBrace ? closeBrace : closeBracket
      at = blanksEnd(bytes, at + 1)
      if (bytes[at] !== close) {
        closing.push(close)
        if (close === closeBrace) at = nameEnd(text, at)
        if (at === none) return false
        continue
      }
      at++
    } else at = scalarEnd(text, at)
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
    if (closing.at(-1) === closeBrace) at = nameEnd(text, at)
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
function nameEnd(text: Text, start: number): number {
  const { bytes } = text
  if (bytes[start] !== quote) return none
  const name = stringEnd(text, start)
  if (name === none) return none
  const at = blanksEnd(bytes, name)
  return bytes[at] === colon ? blanksEnd(bytes, at + 1) : none
}

function scalarEnd(text: Text, at: number): number {
  const { bytes } = text
  switch (bytes[at]) {
    case quote:
      return stringEnd(text, at)
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

/**
 * Index after the closing quote; `none` for a string that is cut off, has a control character or an unknown
 * escape.
 */
function stringEnd({ bytes, words, wordsFrom }: Text, start: number): number {
  for (let at = start + 1; at < bytes.length; ) {
    const byte = bytes[at] as number
    if (byte === quote) return at + 1
    if (byte < 0x20) return none
    if (byte === backslash) {
      at = escapeEnd(bytes, at + 1)
      if (at === none) return none
      continue
    }
    at++
    if (((at - wordsFrom) & 3) !== 0) continue
    let word = (at - wordsFrom) >> 2
    while (word < words.length && isPlain(words[word] as number)) word++
    at = (word << 2) + wordsFrom
  }
  return none
}

/** Whether none of four bytes is a quote, a backslash or a control character; may be false although none is. */
function isPlain(word: number): boolean {
  const quotes = word ^ 0x22222222
  const slashes = word ^ 0x5c5c5c5c
  const found =
    ((word - 0x20202020) & ~word) | ((quotes - 0x01010101) & ~quotes) | ((slashes - 0x01010101) & ~slashes)
  return (found & 0x80808080) === 0
}

/** Behind an escape that begins after the backslash (RFC 8259 §7). */
function escapeEnd(bytes: Uint8Array, start: number): number {
  switch (bytes[start]) {
    case quote:
    case backslash:
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return start + 1
    case 0x75: // u
      for (let at = start + 1; at < start + 5; at++) if (!isHexDigit(bytes[at])) return none
      return start + 5
    default:
      return none
  }
}

function isHexDigit(byte = 0): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66)
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
