import { isUtf8 } from 'node:buffer'
import {
  type DerElement,
  der,
  derContent,
  derElements,
  derIdentifier,
  derMembers,
  derObjectIdentifier,
  derSequence,
  derTag,
} from '../der.ts'
import { pkiError } from '../error.ts'

/** Object identifiers of name attributes with a short name (RFC 5280 §A.1, RFC 4519). */
export const namePartIdentifiers = {
  CN: '2.5.4.3',
  O: '2.5.4.10',
  OU: '2.5.4.11',
  Email: '1.2.840.113549.1.9.1',
  C: '2.5.4.6',
  ST: '2.5.4.8',
  L: '2.5.4.7',
  UID: '0.9.2342.19200300.100.1.1',
  SerialNumber: '2.5.4.5',
  Title: '2.5.4.12',
  DC: '0.9.2342.19200300.100.1.25',
  DNQualifier: '2.5.4.46',
} as const
export type NamePart = keyof typeof namePartIdentifiers

const partByIdentifier: ReadonlyMap<string, NamePart> = new Map(
  Object.entries(namePartIdentifiers).map(([part, identifier]) => [identifier, part as NamePart]),
)

export type NameParts = readonly (readonly [NamePart, string])[]

/** Reads the known parts of a distinguished name in their order; others are omitted. @throws PkiError */
export function readNameParts(name: Uint8Array): NameParts {
  const what = 'A distinguished name'
  return derMembers(name, what).flatMap((relative) =>
    derElements(derContent(relative, derTag.set, what), what).flatMap((attribute) => {
      const [identifier, value] = derMembers(attribute.whole, what)
      const part = partByIdentifier.get(derIdentifier(identifier, what))
      if (value === undefined) throw pkiError('malformed', `${what} has a part without value.`)
      return part === undefined ? [] : [[part, formatValue(value.tag, value.content)] as const]
    }),
  )
}

/** Names of the attributes in RFC 4514 §3 and in the registry of LDAP. */
const descriptors: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...namePartIdentifiers,
    emailAddress: namePartIdentifiers.Email,
    serialNumber: namePartIdentifiers.SerialNumber,
    title: namePartIdentifiers.Title,
    dnQualifier: namePartIdentifiers.DNQualifier,
    STREET: '2.5.4.9',
  }).map(([descriptor, identifier]) => [identifier, descriptor]),
)

/** Formats a distinguished name as text, the last part first (RFC 4514 §2). @throws PkiError */
export function nameText(name: Uint8Array): string {
  const what = 'A distinguished name'
  return derMembers(name, what)
    .map((relative) =>
      derElements(derContent(relative, derTag.set, what), what)
        .map((attribute) => partText(derMembers(attribute.whole, what), what))
        .join('+'),
    )
    .reverse()
    .join(',')
}

/** RFC 4514 §2.3, §2.4: values without descriptor or text are formatted as the hexadecimal of their DER. */
function partText([identifier, value]: readonly DerElement[], what: string): string {
  const dotted = derIdentifier(identifier, what)
  if (value === undefined) throw pkiError('malformed', `${what} has a part without value.`)
  const descriptor = descriptors.get(dotted)
  const text = descriptor === undefined ? undefined : decodeString(value.tag, value.content)
  const shown = text === undefined ? `#${Buffer.from(value.whole).toString('hex')}` : escapeValue(text)
  return `${descriptor ?? dotted}=${shown}`
}

function escapeValue(text: string): string {
  return text.replace(/^[ #]|["+,;<>\\]| $/g, '\\$&').replaceAll('\u0000', '\\00')
}

/**
 * Returns one string per relative name, the same for names that are equal by RFC 5280 §7.1: string type, case and the
 * number of blanks are ignored. @throws PkiError
 */
export function comparableName(name: Uint8Array): readonly string[] {
  const what = 'A distinguished name'
  return derMembers(name, what).map((relative) => {
    const parts = derElements(derContent(relative, derTag.set, what), what).map((attribute) => {
      const [identifier, value] = derMembers(attribute.whole, what)
      if (value === undefined) throw pkiError('malformed', `${what} has a part without value.`)
      return JSON.stringify([derIdentifier(identifier, what), comparableValue(value)])
    })
    return parts.sort().join()
  })
}

// TeletexString, UniversalString, BMPString
const otherThanUtf8: ReadonlySet<number> = new Set([0x14, 0x1c, 0x1e])

function comparableValue({ tag, content, whole }: DerElement): string {
  // Invalid UTF-8 would always become the same replacement character.
  const text = otherThanUtf8.has(tag) || isUtf8(content) ? decodeString(tag, content) : undefined
  if (text === undefined) return `#${Buffer.from(whole).toString('hex')}`
  // The prefix distinguishes text from the hexadecimal of another value.
  return ` ${text.normalize('NFKC').toLowerCase().trim().replaceAll(/\s+/g, ' ')}`
}

/** Decodes the string types of X.520; other values are formatted in hexadecimal. */
function formatValue(tag: number, content: Uint8Array): string {
  return decodeString(tag, content) ?? Buffer.from(content).toString('hex')
}

function decodeString(tag: number, content: Uint8Array): string | undefined {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  switch (tag) {
    // UTF8String, NumericString, PrintableString, IA5String, VisibleString
    case 0x0c:
    case 0x12:
    case 0x13:
    case 0x16:
    case 0x1a:
      return bytes.toString('utf8')
    // TeletexString, in practice Latin-1
    case 0x14:
      return bytes.toString('latin1')
    // UniversalString
    case 0x1c:
      return universalText(bytes)
    // BMPString
    case 0x1e:
      return bytes.length % 2 === 0
        ? Buffer.from(bytes).swap16().toString('utf16le').toWellFormed()
        : undefined
    default:
      return undefined
  }
}

/** Decodes four bytes per character (X.690 §8.23.7); undefined for invalid values. */
function universalText(bytes: Buffer): string | undefined {
  if (bytes.length % 4 !== 0) return undefined
  let text = ''
  for (let at = 0; at < bytes.length; at += 4) {
    const code = bytes.readUInt32BE(at)
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return undefined
    text += String.fromCodePoint(code)
  }
  return text
}

// NumericString, PrintableString, IA5String, VisibleString
const asciiTypes: ReadonlySet<number> = new Set([0x12, 0x13, 0x16, 0x1a])

/**
 * Whether a name has bytes above ASCII in a string type that does not allow them (X.680 §41). Some programs read them
 * as Latin-1, others as UTF-8, so the name would equal two different ones. @throws PkiError
 */
export function hasForeignCharacters(name: Uint8Array): boolean {
  const what = 'A distinguished name'
  return derMembers(name, what).some((relative) =>
    derElements(derContent(relative, derTag.set, what), what).some((attribute) => {
      const [, value] = derMembers(attribute.whole, what)
      return (
        value !== undefined &&
        asciiTypes.has(value.tag) &&
        Buffer.from(value.content).some((byte) => byte > 0x7f)
      )
    }),
  )
}

const printableString = 0x13
const ia5String = 0x16
const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/

/** A distinguished name (RFC 5280 §4.1.2.4), each part a relative name of its own. Empty parts are left out. */
export function nameFromParts(parts: NameParts): Buffer {
  return derSequence(
    ...parts
      .filter(([, value]) => value !== '')
      .map(([part, value]) =>
        der(derTag.set, derSequence(derObjectIdentifier(namePartIdentifiers[part]), text(part, value))),
      ),
  )
}

/** RFC 5280 §A.1 fixes the type of some parts; the others are UTF-8. */
function text(part: NamePart, value: string): Buffer {
  const bytes = Buffer.from(value, 'utf8')
  const isPrintable = printable.test(value)
  if ((part === 'C' || part === 'SerialNumber' || part === 'DNQualifier') && isPrintable)
    return der(printableString, bytes)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the type contains ASCII
  if ((part === 'Email' || part === 'DC') && /^[\u0000-\u007f]*$/.test(value)) return der(ia5String, bytes)
  return der(derTag.utf8String, bytes)
}

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
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression refuses them
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
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression refuses them
    if (/[\u0000-\u001f\u007f\ufffd]/.test(decoded)) throw wrong('contains control characters')
    return decoded.replaceAll(/[\\,;+"<>=# ]/g, '\\$&')
  })
  if (/(?<!\\)(?:\\\\)*\\$/.test(bytes)) throw wrong('ends within an escape')
  return bytes.replaceAll(/\\(.)/g, '$1')
}

function wrong(problem: string) {
  return pkiError('invalid_value', `The distinguished name ${problem}.`)
}
