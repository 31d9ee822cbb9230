import { Buffer, isUtf8 } from 'node:buffer'
import { Tag } from '../tables/tags.gen.ts'
import { tagByName } from '../tables/tags.ts'
import { parseDate, parseEnumeration, parseHex, parseMask, parsePrefixed64, valueTag } from '../text.ts'
import { KmipDecodeError } from '../ttlv/error.ts'
import { type DecodeLimits, fits, shortest, type TtlvNode } from '../ttlv/node.ts'
import { parseXml, type XmlElement } from './parse.ts'

/**
 * Reads KMIP as XML (KMIP Profiles 2.1 §5.4). Names are read in any spelling, masks as names or numbers, hex digits in
 * either case, tags also as `<TTLV tag="0x42….">`.
 * @param text XML, or its UTF-8 bytes
 * @throws KmipDecodeError for everything else
 */
export function decodeXml(text: string | Uint8Array, limits: DecodeLimits = {}): TtlvNode {
  return nodeOfElement(parseXml(typeof text === 'string' ? text : utf8Text(text), limits), limits.draft)
}

function utf8Text(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw new KmipDecodeError('invalid_text', 'The body is not UTF-8.')
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

/** Converts a parsed element to a node; the parser has already limited depth and size. */
export function nodeOfElement(element: XmlElement, draft = false, attributeName?: string): TtlvNode {
  const tag = readTag(element, draft)
  const type = element.attributes.get('type')
  if (type === undefined || type === 'Structure') {
    if (element.attributes.has('value'))
      throw new KmipDecodeError('malformed_xml', 'A structure must have members and no value.')
    const named = element.children
      .find((child) => readTag(child, draft) === Tag.AttributeName)
      ?.attributes.get('value')
    return {
      tag,
      type: 'Structure',
      value: element.children.map((child) => nodeOfElement(child, draft, named)),
    }
  }
  if (element.children.length > 0)
    throw new KmipDecodeError('malformed_xml', 'Only structures can have members.')
  const value = element.attributes.get('value')
  if (value === undefined) throw new KmipDecodeError('malformed_xml', 'An item has no value.')
  const node = scalar(tag, type, value, valueTag(tag, attributeName), draft)
  if (node === undefined || !fits(node))
    throw new KmipDecodeError('invalid_value', 'The value of an item is not valid for its type.')
  return node
}

function readTag(element: XmlElement, draft: boolean): number {
  const number = element.attributes.get('tag')
  const tag = tagByName(element.name === 'TTLV' ? (number ?? '') : element.name, draft)
  if (tag === undefined) throw new KmipDecodeError('unknown_tag', 'An element has an unknown tag.')
  return tag
}

function scalar(
  tag: number,
  type: string,
  value: string,
  meaning: number,
  draft: boolean,
): TtlvNode | undefined {
  switch (type) {
    case 'Integer': {
      const number = readInteger(value, meaning)
      return number === undefined ? undefined : { tag, type, value: number }
    }
    case 'LongInteger': {
      const number = wholeNumber(value)
      return number === undefined ? undefined : { tag, type, value: number }
    }
    case 'DateTimeExtended': {
      const number = wholeNumber(value)
      return number === undefined ? undefined : { tag, type, value: number }
    }
    case 'Interval': {
      const number = wholeNumber(value)
      return number === undefined ? undefined : { tag, type, value: Number(number) }
    }
    case 'Enumeration':
      return { tag, type, value: parseEnumeration(meaning, value, draft) }
    case 'Boolean':
      return value === 'true' || value === 'false' ? { tag, type, value: value === 'true' } : undefined
    case 'TextString':
      return { tag, type, value }
    case 'Identifier':
    case 'Reference':
    case 'NameReference':
      if (draft) return { tag, type, value }
      throw unknownType()
    case 'ByteString':
      return { tag, type, value: parseHex(value) }
    case 'BigInteger':
      return value === ''
        ? undefined
        : { tag, type, value: shortest(parseHex(value.startsWith('0x') ? value.slice(2) : value)) }
    case 'DateTime':
      return { tag, type, value: parseDate(value) }
    default:
      throw unknownType()
  }
}

function unknownType(): KmipDecodeError {
  return new KmipDecodeError('unknown_type', 'An item has an unknown type.')
}

function readInteger(value: string, meaning: number): number | undefined {
  const number = wholeNumber(value)
  if (number === undefined) return parseMask(meaning, value)
  return /^0x.{1,8}$/i.test(value) ? Number(BigInt.asIntN(32, number)) : Number(number)
}

function wholeNumber(value: string): bigint | undefined {
  return /^-?[0-9]{1,20}$/.test(value) ? BigInt(value) : parsePrefixed64(value)
}
