import { isUtf8 } from 'node:buffer'
import { type DerElement, derContent, derElements, derIdentifier, derMembers, derTag } from '../asn1/der.ts'
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
