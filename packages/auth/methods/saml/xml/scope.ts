import { XmlRefused } from './xml-refused.ts'

const xml = 'http://www.w3.org/XML/1998/namespace'
const xmlns = 'http://www.w3.org/2000/xmlns/'

/** Namespace declarations in scope at one position of a document: prefix -> URI; '' = the default namespace. */
export type Scope = ReadonlyMap<string, string>

export const outermost: Scope = new Map([
  ['xml', xml],
  ['', ''],
])

/**
 * Returns the namespace scope of an element (Namespaces in XML 1.0), after the checks on which XML parsers differ:
 * prefixes are declared, reserved ones are not redefined, and no two attributes have the same expanded name.
 * @param attributes qualified name -> value as written
 * @throws XmlRefused
 */
export function openScope(element: string, attributes: ReadonlyMap<string, string>, outer: Scope): Scope {
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
