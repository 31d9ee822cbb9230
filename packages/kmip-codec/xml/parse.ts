import { Budget } from '../text.ts'
import { KmipDecodeError } from '../ttlv/error.ts'
import type { DecodeLimits } from '../ttlv/node.ts'

/**
 * Whether XML 1.0 allows this code point (§2.2: no control characters except tab and line ends, no
 * surrogates, no FFFE, FFFF).
 */
function isXmlCharacter(code: number): boolean {
  return (
    (code >= 0x20 && code <= 0xd7ff) ||
    code === 0x9 ||
    code === 0xa ||
    code === 0xd ||
    (code >= 0xe000 && code <= 0xfffd) ||
    (code >= 0x10000 && code <= 0x10ffff)
  )
}

/** Whether XML allows every character of a text. Surrogates pass: the encoder checks their pairs (`fits`). */
export function isXmlText(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit >= 0xd800 && unit <= 0xdfff) continue
    if (!isXmlCharacter(unit)) return false
  }
  return true
}

/** An element, with references in attribute values already replaced. */
export interface XmlElement {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: readonly XmlElement[]
}

const maximumName = 128

/** Maximum number of attributes of an element; KMIP uses four. */
const maximumAttributes = 16

/**
 * Parses the subset of XML that KMIP needs (KMIP Profiles 2.1 §5.4): elements, attributes, comments, one XML
 * declaration, the five entities and numeric references. Refused: DTDs (so entities cannot be declared,
 * expanded or fetched), processing instructions, CDATA, text between elements, prefixed names. Time is linear
 * in the length.
 * @throws KmipDecodeError `malformed_xml`, `too_deep` or `too_many_items`
 */
export function parseXml(text: string, limits: DecodeLimits = {}): XmlElement {
  const parser = new XmlParser(text, limits)
  return parser.document()
}

interface OpenElement {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: XmlElement[]
}

class XmlParser {
  readonly #text: string
  readonly #budget: Budget
  #at = 0

  constructor(text: string, limits: DecodeLimits) {
    this.#text = text
    this.#budget = new Budget(limits)
    if (text.charCodeAt(0) === 0xfeff) this.#at = 1
  }

  document(): XmlElement {
    this.#declaration()
    this.#skip()
    const root = this.#tree()
    this.#skip()
    if (this.#at !== this.#text.length) throw parseError('The document has content after the root element.')
    return root
  }

  #declaration(): void {
    if (!this.#text.startsWith('<?xml', this.#at)) return
    const end = this.#text.indexOf('?>', this.#at)
    const inside = end < 0 || end - this.#at > 200 ? undefined : this.#text.slice(this.#at + 5, end)
    if (
      inside === undefined ||
      !/^\s+version\s*=\s*(["'])1\.[01]\1(\s+encoding\s*=\s*(["'])utf-8\3)?(\s+standalone\s*=\s*(["'])(yes|no)\5)?\s*$/i.test(
        inside,
      )
    )
      throw parseError('The XML declaration must be version 1.0 in UTF-8.')
    this.#at = end + 2
  }

  /** Elements are kept on an explicit stack, so nesting cannot exhaust the call stack. */
  #tree(): XmlElement {
    const open: OpenElement[] = []
    for (;;) {
      const text = this.#text
      if (text[this.#at] !== '<') throw parseError('An element is expected.')
      if (text[this.#at + 1] === '/') {
        const closed = this.#close(open)
        const parent = open.at(-1)
        if (parent === undefined) return closed
        parent.children.push(closed)
      } else {
        const { element, isEmpty } = this.#open(open.length + 1)
        const parent = open.at(-1)
        if (!isEmpty) open.push(element)
        else if (parent === undefined) return element
        else parent.children.push(element)
      }
      this.#skip()
    }
  }

  #open(depth: number): { readonly element: OpenElement; readonly isEmpty: boolean } {
    this.#budget.take(depth)
    this.#at += 1
    const attributes = new Map<string, string>()
    const element: OpenElement = { name: this.#name(), attributes, children: [] }
    for (;;) {
      const before = this.#at
      this.#space()
      const text = this.#text
      if (text[this.#at] === '>') {
        this.#at += 1
        return { element, isEmpty: false }
      }
      if (text.startsWith('/>', this.#at)) {
        this.#at += 2
        return { element, isEmpty: true }
      }
      if (before === this.#at) throw parseError('An attribute must have a space before it.')
      this.#attribute(attributes)
    }
  }

  #attribute(attributes: Map<string, string>): void {
    const key = this.#attributeName()
    this.#space()
    if (this.#text[this.#at] !== '=') throw parseError('An attribute has no value.')
    this.#at += 1
    this.#space()
    const quote = this.#text[this.#at]
    if (quote !== '"' && quote !== "'") throw parseError('An attribute value is not quoted.')
    const end = this.#text.indexOf(quote, this.#at + 1)
    if (end < 0) throw parseError('An attribute value is not terminated.')
    const raw = this.#text.slice(this.#at + 1, end)
    this.#at = end + 1
    if (attributes.has(key) || attributes.size >= maximumAttributes)
      throw parseError('An element repeats an attribute or has too many.')
    attributes.set(key, attributeValue(raw))
  }

  #attributeName(): string {
    const key = this.#name()
    // xmlns:prefix="…" declarations are accepted and ignored: prefixed elements are refused.
    if (key !== 'xmlns' || this.#text[this.#at] !== ':') return key
    this.#at += 1
    return `xmlns:${this.#name()}`
  }

  #close(open: OpenElement[]): XmlElement {
    this.#at += 2
    const closing = this.#name()
    this.#space()
    const element = open.pop()
    if (this.#text[this.#at] !== '>' || element === undefined || element.name !== closing)
      throw parseError('End tags do not match start tags.')
    this.#at += 1
    return element
  }

  #name(): string {
    const start = this.#at
    let at = start
    while (isNameUnit(this.#text.charCodeAt(at), at > start)) at += 1
    if (at === start || at - start > maximumName) throw parseError('A name is invalid.')
    this.#at = at
    return this.#text.slice(start, at)
  }

  #space(): void {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at += 1
  }

  /** White space and comments. */
  #skip(): void {
    for (;;) {
      this.#space()
      if (!this.#text.startsWith('<!--', this.#at)) return
      const end = this.#text.indexOf('--', this.#at + 4)
      if (end < 0 || this.#text[end + 2] !== '>') throw parseError('A comment is not terminated.')
      this.#at = end + 3
    }
  }
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x09 || unit === 0x0d
}

/**
 * Letters and `_`, inside also digits, `.` and `-`. Beyond the end of the text the code unit is NaN, which
 * does not match.
 */
function isNameUnit(unit: number, inside: boolean): boolean {
  if ((unit >= 0x61 && unit <= 0x7a) || (unit >= 0x41 && unit <= 0x5a) || unit === 0x5f) return true
  return inside && ((unit >= 0x30 && unit <= 0x39) || unit === 0x2e || unit === 0x2d)
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** XML 1.0 §3.3.3: white space becomes spaces, references become characters. */
function attributeValue(raw: string): string {
  if (raw.includes('<') || !isXmlText(raw))
    throw parseError('An attribute value contains a character that XML does not allow.')
  const spaced = /[\t\r\n]/.test(raw) ? raw.replace(/\r\n|[\t\r\n]/g, ' ') : raw
  if (!spaced.includes('&')) return spaced
  return spaced.replace(/&([^;&]{0,12};?)/g, (_all, reference: string) => character(reference))
}

function character(reference: string): string {
  const [, decimal, hex, named] =
    /^(?:#([0-9]{1,7})|#x([0-9a-fA-F]{1,6})|([a-z]{2,4}));$/.exec(reference) ?? []
  if (named !== undefined && Object.hasOwn(entities, named)) return entities[named] ?? ''
  const code = decimal !== undefined ? Number(decimal) : hex !== undefined ? Number.parseInt(hex, 16) : 0
  if (!isXmlCharacter(code))
    throw parseError('A reference is neither a character nor one of the five entities.')
  return String.fromCodePoint(code)
}

function parseError(sentence: string): KmipDecodeError {
  return new KmipDecodeError('malformed_xml', sentence)
}
