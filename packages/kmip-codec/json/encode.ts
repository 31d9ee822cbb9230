import { tagText } from '../tables/tags.ts'
import {
  attributeNameAmong,
  dateText,
  enumerationText,
  formatHex,
  upperHex,
  valueTag,
  wholeWords,
} from '../text/values.ts'
import { KmipEncodeError } from '../ttlv/error.ts'
import { fits, maximumDepth, type StructureNode, type TtlvNode } from '../ttlv/node.ts'

/**
 * Writes a tree as JSON TTLV (KMIP Profiles 2.1 §5.5): members in the order tag, type, value; enumerations by
 * name (`0x` and 8 digits where a value has none), masks as numbers, 64-bit numbers as `0x` and 16 digits,
 * bytes in upper-case hex, dates as RFC 3339 in UTC.
 * @throws KmipEncodeError for values outside their type, or a tree deeper than 64 levels
 */
export function encodeJson(node: TtlvNode): string {
  return nodeText(node, tagText(node.tag), node.tag, 1)
}

/**
 * Like `encodeJson`, with another name for the root: bare replies are called `CreateResponse`, which is not a
 * tag.
 */
export function encodeJsonAs(rootName: string, node: StructureNode): string {
  return nodeText(node, rootName, node.tag, 1)
}

/**
 * The value that JSON.parse would return for the text of `encodeJson`, for nodes inside another JSON text.
 */
export function jsonValue(node: TtlvNode): JsonForm {
  return nodeValue(node, node.tag, 1)
}

export interface JsonForm {
  readonly tag: string
  readonly type: TtlvNode['type']
  readonly value: string | number | boolean | readonly JsonForm[]
}

function nodeValue(node: TtlvNode, meaning: number, depth: number): JsonForm {
  requireFits(node)
  const value = node.type === 'Structure' ? memberValues(node, depth) : scalarValue(node, meaning)
  return { tag: tagText(node.tag), type: node.type, value }
}

function memberValues(node: StructureNode, depth: number): readonly JsonForm[] {
  requireDepth(node, depth)
  const attributeName = attributeNameAmong(node.value)
  return node.value.map((member) => nodeValue(member, valueTag(member.tag, attributeName), depth + 1))
}

function nodeText(node: TtlvNode, name: string, meaning: number, depth: number): string {
  requireFits(node)
  return `{"tag":"${name}","type":"${node.type}","value":${valueText(node, meaning, depth)}}`
}

function valueText(node: TtlvNode, meaning: number, depth: number): string {
  if (node.type === 'Structure') return membersText(node, depth)
  const value = scalarValue(node, meaning)
  if (typeof value !== 'string') return String(value)
  // No other text contains characters that JSON must escape.
  return node.type === 'TextString' ? JSON.stringify(value) : `"${value}"`
}

function scalarValue(node: Exclude<TtlvNode, StructureNode>, meaning: number): string | number | boolean {
  switch (node.type) {
    case 'Integer':
    case 'Interval':
    case 'Boolean':
    case 'TextString':
      return node.value
    case 'Enumeration':
      return enumerationText(meaning, node.value)
    case 'ByteString':
      return upperHex(node.value)
    case 'BigInteger':
      return `0x${upperHex(wholeWords(node.value))}`
    case 'LongInteger':
    case 'DateTimeExtended':
      return formatHex(node.value, 16)
    case 'DateTime':
      return dateText(node.value)
  }
}

function requireFits(node: TtlvNode): void {
  if (!fits(node)) throw new KmipEncodeError(`The value is not valid for the type ${node.type}.`)
}

function requireDepth(node: StructureNode, depth: number): void {
  if (depth >= maximumDepth && node.value.length > 0)
    throw new KmipEncodeError('The tree is nested too deep.')
}

function membersText(node: StructureNode, depth: number): string {
  requireDepth(node, depth)
  const attributeName = attributeNameAmong(node.value)
  let text = '['
  for (const member of node.value) {
    if (text.length > 1) text += ','
    text += nodeText(member, tagText(member.tag), valueTag(member.tag, attributeName), depth + 1)
  }
  return `${text}]`
}
