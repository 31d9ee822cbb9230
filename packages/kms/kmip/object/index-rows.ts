import { createHash } from 'node:crypto'
import { Tag, tagName, valueName } from '@warder/kmip/tables'
import { encodeTtlv, type StructureNode, type TtlvNode } from '@warder/kmip/ttlv'
import type { ManagedObject } from '../../objects/index.ts'
import { storedAttributes } from './stored-attributes.ts'

/** How an object is found by its stored attributes: rows of `object_name`, `object_link` and `object_attribute`. */
export interface IndexRows {
  readonly names: readonly { readonly name: string; readonly type: string }[]
  readonly links: readonly { readonly type: string; readonly linked: string }[]
  readonly values: readonly { readonly name: string; readonly value: string }[]
}

export function indexRowsOf(object: Pick<ManagedObject, 'attributes'>): IndexRows {
  const names = new Map<string, string>()
  const links = new Map<string, { type: string; linked: string }>()
  const values = new Map<string, { name: string; value: string }>()
  for (const node of storedAttributes(object)) {
    if (node.tag === Tag.Name && node.type === 'Structure') {
      const name = textOf(node, Tag.NameValue)
      if (name !== undefined)
        names.set(name, valueName('NameType', numberOf(node, Tag.NameType)) ?? 'UninterpretedTextString')
    } else if (node.tag === Tag.Link && node.type === 'Structure') {
      const linked = textOf(node, Tag.LinkedObjectIdentifier)
      const type = valueName('LinkType', numberOf(node, Tag.LinkType))
      if (linked !== undefined && type !== undefined) links.set(`${type} ${linked}`, { type, linked })
    } else {
      const name = tagName(node.tag)
      const value = indexValue(node)
      if (name !== undefined && value !== undefined) values.set(`${name} ${value}`, { name, value })
    }
  }
  return {
    names: [...names].map(([name, type]) => ({ name, type })),
    links: [...links.values()],
    values: [...values.values()],
  }
}

const longestText = 200

/**
 * The text by which equal values of an attribute are found: numbers and short text as they are, anything else as the
 * SHA-256 of its encoding. undefined: it is not looked up by equality (dates are looked up by range).
 */
export function indexValue(node: TtlvNode): string | undefined {
  switch (node.type) {
    case 'DateTime':
    case 'DateTimeExtended':
      return undefined
    case 'Integer':
    case 'Interval':
    case 'Enumeration':
    case 'Boolean':
    case 'LongInteger':
      return String(node.value)
    case 'TextString':
      // biome-ignore lint/suspicious/noControlCharactersInRegex: PostgreSQL has no NUL in text
      if (node.value.length <= longestText && !/\u0000/.test(node.value)) return `=${node.value}`
  }
  return `#${createHash('sha256').update(encodeTtlv(node)).digest('base64url')}`
}

function textOf(parent: StructureNode, tag: number): string | undefined {
  const member = parent.value.find((node) => node.tag === tag)
  // PostgreSQL has no NUL in text.
  return member?.type === 'TextString' ? member.value.replaceAll('\u0000', '\ufffd') : undefined
}

function numberOf(parent: StructureNode, tag: number): number {
  const member = parent.value.find((node) => node.tag === tag)
  return member?.type === 'Enumeration' ? member.value : 0
}
