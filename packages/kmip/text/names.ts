import { attributeByLegacyName } from '../tables/attributes.ts'
import {
  type EnumerationName,
  enumerationOf,
  maskOf,
  maskValueNames,
  valueByName,
  valueName,
} from '../tables/enumerations.ts'
import { Tag } from '../tables/tags.gen.ts'
import { tagByName, tagName } from '../tables/tags.ts'
import { KmipDecodeError } from '../ttlv/error.ts'
import type { TtlvNode } from '../ttlv/node.ts'
import { parsePrefixed32, prefixedHex } from './hex.ts'

/** Tags whose enumeration values are tags themselves (KMIP 2.1 §5.5, §10.1.1). */
function holdsTags(tag: number): boolean {
  return tag === Tag.AttributeReference || tag === Tag.Tag
}

/**
 * The tag that gives the values under `AttributeValue` their meaning: in 1.x it is named by the AttributeName beside
 * it (`Cryptographic Algorithm`); vendor attributes have none.
 */
export function valueTag(tag: number, attributeName: string | undefined): number {
  if (tag !== Tag.AttributeValue || attributeName === undefined) return tag
  return attributeByLegacyName(attributeName)?.tag ?? tag
}

/** The AttributeName among these siblings, for `valueTag`. */
export function attributeNameAmong(siblings: readonly TtlvNode[]): string | undefined {
  for (const node of siblings)
    if (node.tag === Tag.AttributeName && node.type === 'TextString') return node.value
  return undefined
}

/** The name of an enumeration value under this tag; `0x` and 8 digits when it has none. */
export function enumerationText(tag: number, value: number): string {
  if (holdsTags(tag)) return tagName(value) ?? prefixedHex(value, 8)
  const enumeration = enumerationOf(tag)
  return (enumeration && valueName(enumeration, value)) ?? prefixedHex(value, 8)
}

/**
 * The value of a name in any spelling, or of `0x` and up to 8 digits.
 * @throws KmipDecodeError `unknown_enumeration`
 */
export function parseEnumeration(tag: number, text: string): number {
  const hex = parsePrefixed32(text)
  if (hex !== undefined) return hex
  const value = holdsTags(tag) ? referencedTag(text) : named(enumerationOf(tag), text)
  if (value === undefined)
    throw new KmipDecodeError(
      'unknown_enumeration',
      'An enumeration value has a name that is not known here.',
    )
  return value
}

function referencedTag(text: string): number | undefined {
  return tagByName(text) ?? attributeByLegacyName(text)?.tag
}

function named(enumeration: EnumerationName | undefined, text: string): number | undefined {
  return enumeration && valueByName(enumeration, text)
}

/** The names of a mask's bits in a row; undefined when the Integer is no mask or a bit has no name. */
export function maskText(tag: number, value: number, separator: string): string | undefined {
  const mask = maskOf(tag)
  if (mask === undefined || value === 0) return undefined
  return maskValueNames(mask, value)?.join(separator)
}

/**
 * The bits of names separated by spaces or `|`, each in any spelling, or a number (`0x…` too) among them.
 * undefined when the Integer is no mask or a name is not known.
 */
export function parseMask(tag: number, text: string): number | undefined {
  const mask = maskOf(tag)
  if (mask === undefined || text.length > 2048) return undefined
  let bits = 0
  for (const name of text.split(/[\s|]+/)) {
    if (name === '') continue
    const value = valueByName(mask, name) ?? parsePrefixed32(name)
    if (value === undefined) return undefined
    bits |= value
  }
  return bits
}
