/** XML that is refused: malformed, beyond a limit, or with a construct that SAML does not need. */
export class XmlRefused extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'XmlRefused'
  }
}

const xml = 'http://www.w3.org/XML/1998/namespace'
const xmlns = 'http://www.w3.org/2000/xmlns/'

/** Namespace declarations in scope at one position of a document: prefix -> URI; '' = the default namespace. */
type Scope = ReadonlyMap<string, string>

const outermost: Scope = new Map([
  ['xml', xml],
  ['', ''],
])

/**
 * Returns the namespace scope of an element (Namespaces in XML 1.0), after the checks on which XML parsers differ:
 * prefixes are declared, reserved ones are not redefined, and no two attributes have the same expanded name.
 * @param attributes qualified name -> value as written
 * @throws XmlRefused
 */
function openScope(element: string, attributes: ReadonlyMap<string, string>, outer: Scope): Scope {
  const scope = readDeclarations(attributes, outer)
  requirePrefix(element, scope)
  const expanded = new Set<string>()
  for (const name of attributes.keys()) {
    if (name === 'xmlns' || name.startsWith('xmlns:')) continue
    const [prefix, local] = splitName(name)
    requirePrefix(name, scope)
    const full = `${prefix === '' ? '' : scope.get(prefix)} ${local}`
    if (expanded.has(full)) throw new XmlRefused('an element has an attribute twice')
    expanded.add(full)
  }
  return scope
}

function readDeclarations(attributes: ReadonlyMap<string, string>, outer: Scope): Scope {
  let scope: Map<string, string> | undefined
  for (const [name, value] of attributes) {
    if (name !== 'xmlns' && !name.startsWith('xmlns:')) continue
    const prefix = name === 'xmlns' ? '' : name.slice(6)
    if (prefix === 'xml' || prefix === 'xmlns' || value === xml || value === xmlns)
      throw new XmlRefused('a reserved namespace is declared')
    if (value === '' && prefix !== '') throw new XmlRefused('a prefix is declared without a namespace')
    if (/[&\s]/.test(value)) throw new XmlRefused('a namespace name contains a reference or a blank')
    scope ??= new Map(outer)
    scope.set(prefix, value)
  }
  return scope ?? outer
}

function requirePrefix(name: string, scope: Scope): void {
  const [prefix] = splitName(name)
  if (prefix === 'xmlns' || !scope.has(prefix)) throw new XmlRefused('a prefix is not declared')
}

function splitName(name: string): readonly [prefix: string, local: string] {
  const colon = name.indexOf(':')
  return colon < 0 ? ['', name] : [name.slice(0, colon), name.slice(colon + 1)]
}

/** Limits of a document. */
export interface XmlBounds {
  /** UTF-16 code units of the text. */
  readonly length: number
  readonly elements: number
  readonly depth: number
  /** Of the whole document. */
  readonly attributes: number
  readonly attributesOfElement: number
}

/** Messages: a response with a few hundred groups has some 20 KiB and 500 elements. */
export const messageBounds: XmlBounds = {
  length: 256 * 1024,
  elements: 2000,
  depth: 32,
  attributes: 4000,
  attributesOfElement: 32,
}

/** Metadata of one entity, with its certificates and descriptions in many languages. */
export const metadataBounds: XmlBounds = {
  length: 256 * 1024,
  elements: 10_000,
  depth: 32,
  attributes: 20_000,
  attributesOfElement: 32,
}

/** Counts of a document; the parser must find the same. */
export interface XmlCounts {
  readonly elements: number
  readonly attributes: number
}

const blank = '[ \\t\\r\\n]'
// ASCII names: every name that SAML, XML Signature and XML Encryption define is one.
const ncName = '[A-Za-z_][A-Za-z0-9_.-]{0,127}'
const qName = `(?:${ncName}:)?${ncName}`
const startTag = new RegExp(`<(${qName})`, 'y')
const attribute = new RegExp(`${blank}+(${qName})${blank}*=${blank}*(?:"([^"<]*)"|'([^'<]*)')`, 'y')
const startTagEnd = new RegExp(`${blank}*(/?)>`, 'y')
const endTag = new RegExp(`</(${qName})${blank}*>`, 'y')
const declaration = new RegExp(
  `^<\\?xml${blank}+version=["']1\\.0["'](?:${blank}+encoding=["'][Uu][Tt][Ff]-8["'])?(?:${blank}+standalone=["'](?:yes|no)["'])?${blank}*\\?>`,
)
const comment = /<!--(?:(?!--)[\s\S])*-->/g
// XML 1.0 §2.2: no control characters but tab and line ends, no surrogates, no U+FFFE and U+FFFF.
const notXml = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u
const reference = /&(?:(?:amp|lt|gt|quot|apos);|#([0-9]{1,7});|#x([0-9a-fA-F]{1,6});)?/g

/**
 * Accepts the small subset of XML that SAML needs, before any parser runs: elements, attributes, text, and the five
 * predefined entities. Refuses document types, processing instructions, comments and CDATA sections, which entity
 * bombs, external entities and ambiguous texts require. One pass, linear in the length.
 * @returns the text without its XML declaration
 * @throws XmlRefused
 */
export function checkXml(
  source: string,
  bounds: XmlBounds,
): { readonly text: string; readonly counts: XmlCounts } {
  if (source.length > bounds.length) throw new XmlRefused(`it is longer than ${bounds.length} characters`)
  if (notXml.test(source)) throw new XmlRefused('it has a character that XML does not allow')
  const text = source.replace(declaration, '')
  return { text, counts: new Scan(text, bounds).run() }
}

/** Removes comments, for documents in which administrators write them. */
export function withoutComments(source: string): string {
  return source.replace(comment, '')
}

class Scan {
  readonly #text: string
  readonly #bounds: XmlBounds
  readonly #open: { readonly name: string; readonly scope: Scope }[] = []
  #at = 0
  #elements = 0
  #attributes = 0

  constructor(text: string, bounds: XmlBounds) {
    this.#text = text
    this.#bounds = bounds
  }

  run(): XmlCounts {
    while (this.#at < this.#text.length) {
      this.#characters()
      if (this.#at < this.#text.length) this.#markup()
    }
    if (this.#elements === 0) throw new XmlRefused('it has no element')
    if (this.#open.length > 0) throw new XmlRefused('an element is not closed')
    return { elements: this.#elements, attributes: this.#attributes }
  }

  #characters(): void {
    const next = this.#text.indexOf('<', this.#at)
    const end = next < 0 ? this.#text.length : next
    const characters = this.#text.slice(this.#at, end)
    if (this.#open.length === 0 && /[^ \t\r\n]/.test(characters))
      throw new XmlRefused('there is text outside the root element')
    if (characters.includes(']]>')) throw new XmlRefused('a text has ]]>')
    checkReferences(characters)
    this.#at = end
  }

  #markup(): void {
    const text = this.#text
    if (text.startsWith('<!DOCTYPE', this.#at)) throw new XmlRefused('it has a document type')
    if (text.startsWith('<!--', this.#at)) throw new XmlRefused('it has a comment')
    if (text.startsWith('<![CDATA[', this.#at)) throw new XmlRefused('it has a CDATA section')
    if (text.startsWith('<?', this.#at)) throw new XmlRefused('it has a processing instruction')
    const closing = this.#match(endTag)
    if (closing !== undefined) {
      if (this.#open.pop()?.name !== closing[1])
        throw new XmlRefused('an end tag does not match its start tag')
      return
    }
    this.#element()
  }

  #element(): void {
    const opening = this.#match(startTag)
    const name = opening?.[1]
    if (name === undefined) throw new XmlRefused('it has a malformed tag')
    if (this.#open.length === 0 && this.#elements > 0) throw new XmlRefused('it has two root elements')
    this.#count('elements', ++this.#elements)
    const attributes = this.#readAttributes()
    const end = this.#match(startTagEnd)
    if (end === undefined) throw new XmlRefused('it has a malformed tag')
    const scope = openScope(name, attributes, this.#open.at(-1)?.scope ?? outermost)
    if (end[1] === '/') return
    this.#open.push({ name, scope })
    this.#count('depth', this.#open.length)
  }

  #readAttributes(): ReadonlyMap<string, string> {
    const attributes = new Map<string, string>()
    for (;;) {
      const found = this.#match(attribute)
      if (found === undefined) return attributes
      const [, name = '', double, single] = found
      const value = double ?? single ?? ''
      checkReferences(value)
      if (attributes.has(name)) throw new XmlRefused('an element has an attribute twice')
      attributes.set(name, value)
      this.#count('attributesOfElement', attributes.size)
      this.#count('attributes', ++this.#attributes)
    }
  }

  #count(what: keyof XmlBounds, count: number): void {
    if (count > this.#bounds[what]) throw new XmlRefused(`it has more than ${this.#bounds[what]} of ${what}`)
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    if (found === null) return undefined
    this.#at = pattern.lastIndex
    return found
  }
}

function checkReferences(text: string): void {
  if (!text.includes('&')) return
  for (const [whole, decimal, hexadecimal] of text.matchAll(reference)) {
    if (whole === '&') throw new XmlRefused('it has an entity that is not predefined')
    const code = decimal === undefined ? Number.parseInt(hexadecimal ?? '20', 16) : Number(decimal)
    if (code > 0x10ffff || notXml.test(String.fromCodePoint(code)))
      throw new XmlRefused('it has a character that XML does not allow')
  }
}
