import { tagName, tagText } from '../tables/tags.ts'
import {
  attributeNameAmong,
  dateText,
  enumerationText,
  formatHex,
  lowerHex,
  maskText,
  valueTag,
  wholeWords,
} from '../text.ts'
import { KmipEncodeError } from '../ttlv/error.ts'
import { fits, maximumDepth, type StructureNode, type TtlvNode } from '../ttlv/node.ts'
import { isXmlText } from './parse.ts'

/**
 * Writes a tree as XML (KMIP Profiles 2.1 §5.4), one element a line as in the standard's test cases:
 * structures without a type, enumerations by name (`0x` and 8 digits where a value has none), masks as names,
 * bytes in lower case.
 * @throws KmipEncodeError for values that their type cannot hold, text with characters that XML does not
 *   allow (most control characters), or a tree deeper than 64
 */
export function encodeXml(node: TtlvNode, draft = false): string {
  return element(node, node.tag, 1, draft)
}

function element(node: TtlvNode, meaning: number, depth: number, draft: boolean): string {
  if (!fits(node)) throw new KmipEncodeError(`The value is not valid for the type ${node.type}.`)
  const indent = '  '.repeat(depth - 1)
  const tag = tagName(node.tag, draft)
  const name = tag ?? 'TTLV'
  const start = `${indent}<${name}${tag !== undefined ? '' : ` tag="${tagText(node.tag)}"`}`
  if (node.type !== 'Structure')
    return `${start} type="${node.type}" value="${valueText(node, meaning, draft)}"/>\n`
  if (depth >= maximumDepth && node.value.length > 0)
    throw new KmipEncodeError('The tree is nested too deep.')
  const attributeName = attributeNameAmong(node.value)
  let members = ''
  for (const member of node.value)
    members += element(member, valueTag(member.tag, attributeName), depth + 1, draft)
  return members === '' ? `${start}/>\n` : `${start}>\n${members}${indent}</${name}>\n`
}

function valueText(node: Exclude<TtlvNode, StructureNode>, meaning: number, draft: boolean): string {
  switch (node.type) {
    case 'Integer':
      return maskText(meaning, node.value, ' ') ?? String(node.value)
    case 'Enumeration':
      return enumerationText(meaning, node.value, draft)
    case 'TextString':
    case 'Identifier':
    case 'Reference':
    case 'NameReference':
      return escapeText(node.value)
    case 'ByteString':
      return lowerHex(node.value)
    case 'BigInteger':
      return lowerHex(wholeWords(node.value))
    case 'DateTime':
      return dateText(node.value)
    case 'DateTimeExtended':
      return formatHex(node.value, 16)
    default:
      return String(node.value)
  }
}

const references: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
}

function escapeText(text: string): string {
  if (!isXmlText(text)) throw new KmipEncodeError('A string contains a character that XML does not allow.')
  return text.replace(/[&<>"\t\n\r]/g, (found) => references[found] ?? found)
}
