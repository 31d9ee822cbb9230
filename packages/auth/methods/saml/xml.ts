import { createRequire } from 'node:module'
import { checkXml, messageBounds, type XmlBounds, type XmlCounts, XmlRefused } from './xml-gate.ts'

/** Namespaces of SAML 2.0 and of the standards that it uses. */
export const namespaces = {
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  encryption: 'http://www.w3.org/2001/04/xmlenc#',
  encryption11: 'http://www.w3.org/2009/xmlenc11#',
  exclusiveC14n: 'http://www.w3.org/2001/10/xml-exc-c14n#',
} as const

type Namespace = keyof typeof namespaces

export const bindings = {
  redirect: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect',
  post: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
} as const

export const nameIdFormats = {
  entity: 'urn:oasis:names:tc:SAML:2.0:nameid-format:entity',
  transient: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
} as const

export const success = 'urn:oasis:names:tc:SAML:2.0:status:Success'

/** `xs:dateTime` in UTC (SAML 2.0 core §1.3.3), with any fraction of a second. */
const utc = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.\d{1,12})?(?:Z|[+-]00:00)$/

/** Unix seconds, rounded down; undefined for anything that is not a time in UTC. */
export function readTime(text: string): number | undefined {
  const parts = utc.exec(text)?.slice(1).map(Number)
  if (parts === undefined) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
  const time = Date.UTC(year, month - 1, day, hour, minute, second)
  const written = new Date(time).toISOString().slice(0, 19)
  return written === text.slice(0, 19) ? time / 1000 : undefined
}

/** @param seconds Unix seconds */
export function writeTime(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
}

/** Escapes a text for XML or HTML, for content and attributes. */
export function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"'\t\n\r]/g, (character) => escapes[character] ?? '')
}

/**
 * The used part of the DOM. The declarations of the parser would add the globals of browsers to the whole project, so
 * they are not loaded.
 */
interface XmlNode {
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

interface XmlAttribute {
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
function parseXml(text: string, counts: XmlCounts): XmlElement {
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

function isElement(node: XmlNode): node is XmlElement {
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

/** The text of an element that has nothing but text; undefined if it has elements. */
export function readText(element: XmlElement): string | undefined {
  return childElements(element).length > 0 ? undefined : (element.textContent ?? '')
}

/** undefined if it is absent. */
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
