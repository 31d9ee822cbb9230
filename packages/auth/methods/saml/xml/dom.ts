import { createRequire } from 'node:module'
import type { XmlCounts } from './gate.ts'
import { XmlRefused } from './xml-refused.ts'

/**
 * The used part of the DOM. The declarations of the parser would add the globals of browsers to the whole project, so
 * they are not loaded.
 */
export interface XmlNode {
  readonly nodeType: number
  readonly textContent: string | null
  readonly childNodes: ArrayLike<XmlNode>
}

export interface XmlElement extends XmlNode {
  readonly localName: string
  readonly namespaceURI: string | null
  readonly parentNode: XmlNode | null
  readonly attributes: ArrayLike<XmlAttribute>
  getAttribute(name: string): string | null
  hasAttribute(name: string): boolean
  removeChild(child: XmlNode): void
}

export interface XmlAttribute {
  readonly name: string
  readonly localName: string
  readonly namespaceURI: string | null
  readonly value: string
}

interface Parser {
  parseFromString(text: string, type: 'text/xml'): { readonly documentElement: XmlElement | null }
}

const { DOMParser } = createRequire(import.meta.url)('@xmldom/xmldom') as {
  DOMParser: new (options: object) => Parser
}

const refuse = (): never => {
  throw new XmlRefused('it is not well-formed')
}

/**
 * Parses text that has passed the gate. Refuses the text when the parser reports a problem, or counts another number
 * of elements or attributes than the gate.
 * @returns the root element
 * @throws XmlRefused
 */
export function parseXml(text: string, counts: XmlCounts): XmlElement {
  const errorHandler = { warning: refuse, error: refuse, fatalError: refuse }
  let root: XmlElement | null
  try {
    root = new DOMParser({ errorHandler }).parseFromString(text, 'text/xml').documentElement
  } catch (cause) {
    throw cause instanceof XmlRefused ? cause : new XmlRefused('it is not well-formed')
  }
  if (root === null) return refuse()
  const all = listElements(root)
  const attributes = all.reduce((sum, element) => sum + element.attributes.length, 0)
  return all.length === counts.elements && attributes === counts.attributes ? root : refuse()
}

export function isElement(node: XmlNode): node is XmlElement {
  return node.nodeType === 1
}

/** An element and all below it, in the order of the document. */
export function listElements(root: XmlElement): readonly XmlElement[] {
  const found: XmlElement[] = []
  const waiting: XmlElement[] = [root]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    found.push(next)
    const children = Array.from(next.childNodes).filter(isElement)
    for (const child of children.reverse()) waiting.push(child)
  }
  return found
}
