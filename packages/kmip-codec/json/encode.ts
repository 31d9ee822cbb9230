import { isDraftType } from '../tables/draft.ts'
import { tagText } from '../tables/tags.ts'
import {
  attributeNameAmong,
  dateText,
  enumerationText,
  formatHex,
  upperHex,
  valueTag,
  wholeWords,
} from '../text.ts'
import { KmipEncodeError } from '../ttlv/error.ts'
import { fits, maximumDepth, type StructureNode, type TtlvNode } from '../ttlv/node.ts'

/**
 * Writes a tree as JSON TTLV (KMIP Profiles 2.1 §5.5): members in the order tag, type, value; enumerations by
 * name (`0x` and 8 digits where a value has none), masks as numbers, 64-bit numbers as `0x` and 16 digits,
 * bytes in upper-case hex, dates as RFC 3339 in UTC.
 * @throws KmipEncodeError for values outside their type, or a tree deeper than 64 levels
 */
export function encodeJson(node: TtlvNode, draft = false): string {
  return nodeText(node, tagText(node.tag, draft), node.tag, 1, draft)
}

/**
 * Like `encodeJson`, with another name for the root: bare replies are called `CreateResponse`, which is not a
 * tag.
 */
export function encodeJsonAs(rootName: string, node: StructureNode, draft = false): string {
  return nodeText(node, rootName, node.tag, 1, draft)
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
  const value = node.type === 'Structure' ? memberValues(node, depth) : scalarValue(node, meaning, false)
  return { tag: tagText(node.tag), type: node.type, value }
}

function memberValues(node: StructureNode, depth: number): readonly JsonForm[] {
  requireDepth(node, depth)
  const attributeName = attributeNameAmong(node.value)
  return node.value.map((member) => nodeValue(member, valueTag(member.tag, attributeName), depth + 1))
}

function nodeText(node: TtlvNode, name: string, meaning: number, depth: number, draft: boolean): string {
  requireFits(node)
  return `{"tag":"${name}","type":"${node.type}","value":${valueText(node, meaning, depth, draft)}}`
}

function valueText(node: TtlvNode, meaning: number, depth: number, draft: boolean): string {
  if (node.type === 'Structure') return membersText(node, depth, draft)
  const value = scalarValue(node, meaning, draft)
  if (typeof value !== 'string') return String(value)
  // No other text contains characters that JSON must escape.
  return isText(node) ? JSON.stringify(value) : `"${value}"`
}

function isText({ type }: TtlvNode): boolean {
  return type === 'TextString' || isDraftType(type)
}

function scalarValue(
  node: Exclude<TtlvNode, StructureNode>,
  meaning: number,
  draft: boolean,
): string | number | boolean {
  switch (node.type) {
    case 'Integer':
    case 'Interval':
    case 'Boolean':
    case 'TextString':
    case 'Identifier':
    case 'Reference':
    case 'NameReference':
      return node.value
    case 'Enumeration':
      return enumerationText(meaning, node.value, draft)
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

function membersText(node: StructureNode, depth: number, draft: boolean): string {
  requireDepth(node, depth)
  const attributeName = attributeNameAmong(node.value)
  let text = '['
  for (const member of node.value) {
    if (text.length > 1) text += ','
    const meaning = valueTag(member.tag, attributeName)
    text += nodeText(member, tagText(member.tag, draft), meaning, depth + 1, draft)
  }
  return `${text}]`
}

/**
 * Replies to bare operations in the form that cloudproof_kms_js expects (`tolerances.ts`). It differs from
 * the standard in four ways: an object is called `Object`; the UniqueIdentifiers that Locate found are in a
 * list of that name; KeyValue contains Attributes, also for a wrapped key; and some tags and enumeration
 * values are spelled differently.
 */
export function encodeJsonForFetch(rootName: string, payload: StructureNode): string {
  const { value } = jsonValue(payload)
  const members = Array.isArray(value) ? value.map(respell) : []
  const type = members.find(({ tag }) => tag === 'ObjectType')?.value
  const renamed = members.map((member) =>
    member.tag === type ? { ...withAttributes(member, String(type)), tag: 'Object' } : member,
  )
  const listed = rootName === 'LocateResponse' ? identifiersListed(renamed) : renamed
  return JSON.stringify({ tag: rootName, type: 'Structure', value: listed })
}

/**
 * Whether a bare request comes from a client of this form: a Fetch client that sends a charset, which JSON
 * does not define.
 */
export function asksForFetchForm(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): boolean {
  return (
    headers['content-type'] === 'application/json; charset=utf-8' && headers['sec-fetch-mode'] !== undefined
  )
}

function identifiersListed(members: readonly JsonForm[]): readonly JsonForm[] {
  const isFound = ({ tag }: JsonForm): boolean => tag === 'UniqueIdentifier'
  const found = members.filter(isFound)
  const list: JsonForm = { tag: 'UniqueIdentifier', type: 'Structure', value: found }
  return [...members.filter((member) => !isFound(member)), list]
}

/** Copies the fields of the KeyBlock into Attributes in the KeyValue. */
function withAttributes(object: JsonForm, objectType: string): JsonForm {
  return withMembers(object, (member) => {
    if (member.tag !== 'KeyBlock') return member
    const said = listMembers(member).filter(({ tag }) => described.has(tag))
    const attributes = [{ tag: 'ObjectType', type: 'Enumeration', value: objectType } as const, ...said]
    return withMembers(member, (inner) => (inner.tag === 'KeyValue' ? keyValue(inner, attributes) : inner))
  })
}

const described: ReadonlySet<string> = new Set([
  'CryptographicAlgorithm',
  'CryptographicLength',
  'KeyFormatType',
])

/** The bytes of a wrapped key become its KeyMaterial. */
function keyValue(node: JsonForm, attributes: readonly JsonForm[]): JsonForm {
  const material =
    node.type === 'Structure'
      ? listMembers(node).filter(({ tag }) => tag !== 'Attributes')
      : [{ ...node, tag: 'KeyMaterial' }]
  const beside = { tag: 'Attributes', type: 'Structure', value: attributes } as const
  return { tag: node.tag, type: 'Structure', value: [...material, beside] }
}

function respell({ tag: name, type, value }: JsonForm): JsonForm {
  const tag = tagSpellings[name] ?? name
  if (type === 'Structure' && Array.isArray(value)) return { tag, type, value: value.map(respell) }
  if (type !== 'Enumeration' || typeof value !== 'string') return { tag, type, value }
  const plain = withoutUnderscores.has(name) ? value.replaceAll('_', '') : value
  return { tag, type, value: valueSpellings[plain] ?? plain }
}

/** The client converts a tag to a member name by lowering its first letter only. */
const tagSpellings: Readonly<Record<string, string>> = {
  IVCounterNonce: 'IvCounterNonce',
  IVLength: 'IvLength',
  RandomIV: 'RandomIv',
  MACSignature: 'MacOrSignature',
  MACSignatureKeyInformation: 'MacOrSignatureKeyInformation',
}

/** `X_509` is `X509`, `HMAC_SHA256` is `HMACSHA256`, `P_256` is `P256`. */
const withoutUnderscores: ReadonlySet<string> = new Set([
  'CertificateType',
  'CertificateRequestType',
  'CryptographicAlgorithm',
  'KeyFormatType',
  'RecommendedCurve',
])

const valueSpellings: Readonly<Record<string, string>> = {
  DES3: 'THREE_DES',
  NoEncoding: 'No_Encoding',
  TTLVEncoding: 'TTLV_Encoding',
  MACSign: 'MAC_sign',
  EncryptThenMACSign: 'Encrypt_then_MAC_sign',
  MACSignThenEncrypt: 'MAC_sign_then_encrypt',
  PKCS1V1_5: 'PKCS1_v1_5',
  MGF1: 'MFG1',
}

function listMembers(node: JsonForm): readonly JsonForm[] {
  return Array.isArray(node.value) ? node.value : []
}

function withMembers(node: JsonForm, change: (member: JsonForm) => JsonForm): JsonForm {
  return { ...node, value: listMembers(node).map(change) }
}
