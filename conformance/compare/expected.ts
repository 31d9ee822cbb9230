import type { TtlvNode } from '@warder/kmip-codec'
import { nodeOfElement, type XmlElement } from '@warder/kmip-codec/testing'
import { parseMoment, parsePlaceholder } from '../cases/bindings.ts'

/** An expected node, with its printed form in the test case. */
export interface Expected {
  readonly node: TtlvNode
  /** The printed value, a placeholder perhaps; undefined for structures. */
  readonly printed: string | undefined
  readonly children: readonly Expected[]
}

/** @throws KmipDecodeError when the test case itself cannot be read */
export function readExpected(element: XmlElement): Expected {
  return pair(element, nodeOfElement(withoutPlaceholders(element), true))
}

function pair(element: XmlElement, node: TtlvNode): Expected {
  const members = node.type === 'Structure' ? node.value : []
  const children = element.children.flatMap((child, index) => {
    const member = members[index]
    return member === undefined ? [] : [pair(child, member)]
  })
  return { node, printed: element.attributes.get('value'), children }
}

/** The same element with any value of the right type in place of each placeholder. */
function withoutPlaceholders(element: XmlElement): XmlElement {
  const attributes = new Map(element.attributes)
  const value = attributes.get('value')
  if (parseMoment(value) !== undefined) attributes.set('value', '1970-01-01T00:00:00Z')
  else if (parsePlaceholder(value) !== undefined) {
    attributes.set('value', attributes.get('type') === 'ByteString' ? '00' : 'any')
  }
  return { name: element.name, attributes, children: element.children.map(withoutPlaceholders) }
}
