import { parseJsonBody } from '@warder/base'
import { abePolicyAttribute, abeVendor, ownVendor, readVendorName } from '@warder/keys'
import { Enumeration, findMember, Tag, type TtlvNode } from '@warder/kmip-codec'
import { kmipFailure } from '../failure/failure.ts'

/** Vendor attributes that carry request parameters; only the policy of a user key is stored. */
const structureAttribute = 'cover_crypt_access_structure'
export const actionAttribute = 'cover_crypt_rekey_action'
/** The vendor attribute in which clients before version 5 of the deployed product described the attributes. */
const formerStructure = 'cover_crypt_policy'
const asking: ReadonlySet<string> = new Set([structureAttribute, abePolicyAttribute, actionAttribute])

/** Whether the attributes ask for attribute-based encryption. */
export function asksForAbe(attributes: readonly TtlvNode[]): boolean {
  const { CoverCrypt, CoverCryptBulk } = Enumeration.CryptographicAlgorithm
  return attributes.some(
    ({ tag, value }) =>
      tag === Tag.CryptographicAlgorithm && (value === CoverCrypt || value === CoverCryptBulk),
  )
}

function ownName(node: TtlvNode): string | undefined {
  const named = node.tag === Tag.Attribute ? readVendorName(node) : undefined
  return named?.vendor === abeVendor || named?.vendor === ownVendor ? named.name : undefined
}

function abeName(node: TtlvNode): string | undefined {
  const name = ownName(node)
  return name !== undefined && asking.has(name) ? name : undefined
}

/** Is it one of the attributes that describe a key, which no client may change? */
export function isAbeAttribute(node: TtlvNode): boolean {
  return abeName(node) !== undefined
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * The text of a vendor attribute, given as bytes or as text.
 * @throws kmipFailure InvalidAttributeValue
 */
export function readText(attributes: readonly TtlvNode[], name: string): string | undefined {
  const [node, another] = attributes.filter((one) => abeName(one) === name)
  if (another !== undefined) throw kmipFailure('InvalidAttributeValue', `${name} is there twice.`)
  if (node === undefined) return undefined
  const value = node.type === 'Structure' ? findMember(node, Tag.AttributeValue) : undefined
  if (value?.type === 'TextString') return value.value
  try {
    if (value?.type === 'ByteString') return utf8.decode(value.value)
  } catch {
    // Reported below.
  }
  throw kmipFailure('InvalidAttributeValue', `${name} is text in UTF-8.`)
}

/** As `readText`, of an attribute that must be there. @throws kmipFailure MissingData */
export function requireText(attributes: readonly TtlvNode[], name: string): string {
  const text = readText(attributes, name)
  if (text === undefined) throw kmipFailure('MissingData', `The vendor attribute ${name} is missing.`)
  return text
}

/** The JSON of a vendor attribute. @throws kmipFailure MissingData, InvalidAttributeValue */
export function requireJson(attributes: readonly TtlvNode[], name: string): unknown {
  const text = requireText(attributes, name)
  try {
    return parseJsonBody(Buffer.from(text, 'utf8'))
  } catch {
    throw kmipFailure('InvalidAttributeValue', `${name} is not JSON, or has a member twice.`)
  }
}

/** The JSON of an access structure. @throws kmipFailure MissingData, InvalidAttributeValue, FeatureNotSupported */
export function requireStructure(attributes: readonly TtlvNode[]): unknown {
  const isFormer = attributes.some((node) => ownName(node) === formerStructure)
  if (isFormer && readText(attributes, structureAttribute) === undefined)
    throw kmipFailure(
      'FeatureNotSupported',
      `${formerStructure} is the policy of Covercrypt before version 16, whose keys and ciphertexts have other formats: ` +
        `give the attributes as JSON in ${structureAttribute}.`,
    )
  return requireJson(attributes, structureAttribute)
}

/** The attributes of the object itself, without request parameters and without attributes that its bytes contain. */
export function ordinaryAttributes(attributes: readonly TtlvNode[]): readonly TtlvNode[] {
  return attributes.filter(
    (node) =>
      abeName(node) === undefined && node.tag !== Tag.CryptographicLength && node.tag !== Tag.KeyFormatType,
  )
}
