import { isElement, parseXml, type XmlElement, type XmlNode } from './dom.ts'
import { checkXml, messageBounds, type XmlBounds } from './gate.ts'
import { type Namespace, namespaces } from './names.ts'
import { XmlRefused } from './xml-refused.ts'

/** A document that has passed the gate: the parsed tree and its text. */
export interface XmlDocument {
  readonly root: XmlElement
  /** Without XML declaration. */
  readonly text: string
}

/** The only way from text to elements. @throws XmlRefused */
export function readXml(source: string, bounds: XmlBounds = messageBounds): XmlDocument {
  const { text, counts } = checkXml(source, bounds)
  return { root: parseXml(text, counts), text }
}

/** UTF-8 text of bytes. @throws XmlRefused */
export function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new XmlRefused('it is not UTF-8')
  }
}

export function isNamed(element: XmlElement, namespace: Namespace, name: string): boolean {
  return element.localName === name && element.namespaceURI === namespaces[namespace]
}

export function childElements(parent: XmlElement): readonly XmlElement[] {
  return Array.from(parent.childNodes).filter(isElement)
}

export function children(parent: XmlElement, namespace: Namespace, name: string): readonly XmlElement[] {
  return childElements(parent).filter((child) => isNamed(child, namespace, name))
}

/** The only child of this name; undefined when there is none. @throws XmlRefused when there are several */
export function onlyChild(parent: XmlElement, namespace: Namespace, name: string): XmlElement | undefined {
  const [first, second] = children(parent, namespace, name)
  if (second !== undefined) throw new XmlRefused(`${parent.localName} has more than one ${name}`)
  return first
}

/** The text of an element that has nothing but text; undefined where it has elements. */
export function readText(element: XmlElement): string | undefined {
  return childElements(element).length > 0 ? undefined : (element.textContent ?? '')
}

/** undefined where it is absent. */
export function readAttribute(element: XmlElement, name: string): string | undefined {
  return element.hasAttribute(name) ? (element.getAttribute(name) ?? '') : undefined
}

/** The prefixes in scope at an element, declared by it or its ancestors; '' = the default namespace. */
export function prefixesAt(element: XmlElement): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (let at: XmlNode | null = element; at !== null && isElement(at); at = at.parentNode) {
    for (const { name, value } of Array.from(at.attributes)) {
      const prefix = name === 'xmlns' ? '' : name.startsWith('xmlns:') ? name.slice(6) : undefined
      if (prefix !== undefined && !found.has(prefix)) found.set(prefix, value)
    }
  }
  return found
}
