import { Enumeration, enumerationAliases, enumerationOfTag } from './enumerations.gen.ts'
import { normaliseName } from './names.ts'
import { tagName } from './tags.ts'

export type EnumerationName = keyof typeof Enumeration

/** The member names of an enumeration: `ValueName<'State'>` is `'PreActive' | 'Active' | …`. */
export type ValueName<E extends EnumerationName> = Extract<keyof (typeof Enumeration)[E], string>

/** The item types of TTLV (KMIP 2.1 §10.1.2). */
export type ItemType = ValueName<'ItemType'>

/** Integers that are bit masks (KMIP 2.1 §12). */
const maskNames = new Set<string>(['CryptographicUsageMask', 'ProtectionStorageMask', 'StorageStatusMask'])

interface Table {
  readonly names: ReadonlyMap<number, string>
  readonly values: ReadonlyMap<string, number>
}

const tables = new Map<string, Table>()
for (const [enumeration, members] of Object.entries(Enumeration)) {
  const names = new Map<number, string>()
  const values = new Map<string, number>()
  for (const [name, value] of Object.entries(enumerationAliases[enumeration] ?? {}))
    values.set(normaliseName(name), value)
  for (const [name, value] of Object.entries(members)) {
    names.set(value, name)
    values.set(normaliseName(name), value)
  }
  // Also under the unchanged name: the most common spelling needs no normalization.
  for (const [name, value] of Object.entries(members)) values.set(name, value)
  tables.set(enumeration, { names, values })
}

/** The name of a value, e.g. `valueName('State', 2)` is `Active`; undefined for unnamed values. */
export function valueName<E extends EnumerationName>(
  enumeration: E,
  value: number,
): ValueName<E> | undefined {
  return tables.get(enumeration)?.names.get(value) as ValueName<E> | undefined
}

/** The number of a name in any spelling: `valueByName('HashingAlgorithm', 'sha-256')` is 6. */
export function valueByName(enumeration: EnumerationName, name: string): number | undefined {
  if (name.length > 128) return undefined
  const values = tables.get(enumeration)?.values
  return values?.get(name) ?? values?.get(normaliseName(name))
}

/**
 * The enumeration (or mask) of the values of a tag, e.g. HashingAlgorithm for MaskGeneratorHashingAlgorithm.
 */
export function findEnumeration(tag: number): EnumerationName | undefined {
  const name = tagName(tag, true)
  if (name === undefined) return undefined
  const enumeration = enumerationOfTag[name] ?? name
  return tables.has(enumeration) ? (enumeration as EnumerationName) : undefined
}

/** The mask of an Integer with this tag; undefined for a plain number. */
export function findMask(tag: number): EnumerationName | undefined {
  const name = tagName(tag)
  return name !== undefined && maskNames.has(name) ? (name as EnumerationName) : undefined
}

/** The names of the bits of a mask, lowest first; undefined when a bit has no name. */
export function maskValueNames(mask: EnumerationName, bits: number): readonly string[] | undefined {
  const names: string[] = []
  for (let bit = 0; bit < 32; bit++) {
    const value = (1 << bit) >>> 0
    if (((bits >>> 0) & value) === 0) continue
    const name = tables.get(mask)?.names.get(value)
    if (name === undefined) return undefined
    names.push(name)
  }
  return names
}
