import { der, derObjectIdentifier, derSequence, derTag } from '../asn1/der.ts'
import { type NamePart, type NameParts, namePartIdentifiers } from './distinguished-name.ts'

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
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is what the type holds
  if ((part === 'Email' || part === 'DC') && /^[\u0000-\u007f]*$/.test(value)) return der(ia5String, bytes)
  return der(derTag.utf8String, bytes)
}
