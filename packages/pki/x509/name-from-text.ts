import { pkiError } from '../error.ts'
import { type NamePart, namePartIdentifiers } from './distinguished-name.ts'
import { nameFromParts } from './name.ts'

const maxTextLength = 2048

/** Short names in lower case, with those of RFC 4514 §3 and the registry of LDAP. */
const parts: ReadonlyMap<string, NamePart> = new Map([
  ...Object.keys(namePartIdentifiers).map((part) => [part.toLowerCase(), part as NamePart] as const),
  ['e', 'Email'],
  ['emailaddress', 'Email'],
  ['s', 'ST'],
])

/**
 * Parses a distinguished name, the last part first: `CN=Root, O=Acme` (RFC 4514 §3, with blanks around the parts).
 * The empty text is the empty name. Multi-valued parts (`+`) and numeric attributes are not supported.
 * @returns DER
 * @throws PkiError `invalid_value`
 */
export function nameFromText(text: string): Buffer {
  if (text.length > maxTextLength) throw wrong('is too long')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (/[\u0000-\u001f\u007f]/.test(text) || !text.isWellFormed()) throw wrong('contains control characters')
  if (text.trim() === '') return nameFromParts([])
  return nameFromParts(
    split(text)
      .map((each): [NamePart, string] => {
        const equals = each.indexOf('=')
        const part = parts.get(each.slice(0, Math.max(equals, 0)).trim().toLowerCase())
        if (part === undefined) throw wrong('has a part that is not of the form CN=Root')
        const value = unescapeValue(each.slice(equals + 1))
        if (value === '') throw wrong(`has no value for ${part}`)
        return [part, value]
      })
      .reverse(),
  )
}

/** Splits at unescaped commas. */
function split(text: string): readonly string[] {
  const found: string[] = []
  let current = ''
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? ''
    if (character === '\\') {
      current += character + (text[at + 1] ?? '')
      at += 1
    } else if (character === ',' || character === ';') {
      found.push(current)
      current = ''
    } else if (character === '+') throw wrong('has a part of several attributes: escape a plus sign as \\+')
    else current += character
  }
  return [...found, current]
}

/**
 * Decodes the escapes of RFC 4514 §2.4: a character after a backslash, or the hexadecimal bytes of its UTF-8. Only
 * spaces around a value are removed; other blanks belong to it.
 */
function unescapeValue(given: string): string {
  const text = given.replace(/^ +/, '').replace(/(?<!\\) +$/, '')
  const bytes = text.replaceAll(/(?:\\[0-9A-Fa-f]{2})+/g, (escaped) => {
    const decoded = Buffer.from(escaped.replaceAll('\\', ''), 'hex').toString('utf8')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    if (/[\u0000-\u001f\u007f\ufffd]/.test(decoded)) throw wrong('contains control characters')
    return decoded.replaceAll(/[\\,;+"<>=# ]/g, '\\$&')
  })
  if (/(?<!\\)(?:\\\\)*\\$/.test(bytes)) throw wrong('ends within an escape')
  return bytes.replaceAll(/\\(.)/g, '$1')
}

function wrong(problem: string) {
  return pkiError('invalid_value', `The distinguished name ${problem}.`)
}
