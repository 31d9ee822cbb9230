import type { StructureNode } from '../ttlv/node.ts'
import { type JsonForm, jsonValue } from './encode.ts'

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
