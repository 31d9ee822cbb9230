import {
  type AttributeName,
  type AttributeType,
  type AttributeValues,
  attributeTable,
  type StoredValue,
} from './attribute-table.ts'

/**
 * Indexes that no instance of an attribute has, below one that some instance has, by the name of the attribute: an index
 * by which clients of KMIP 1.x know an instance stays when others are added or deleted (KMIP 1.4 §2.1.1).
 */
export type IndexGaps = Readonly<Record<string, readonly number[]>>

const noGaps: IndexGaps = Object.freeze({})
const noValues: readonly StoredValue[] = Object.freeze([])

/**
 * Attributes of an object that have no member of their own in `ManagedObject` (`attribute-table.ts`), in the order in
 * which they were set. Immutable. The text of the row is parsed on first access.
 */
export class ObjectAttributes {
  static readonly none = new ObjectAttributes(noValues, noGaps, '')

  #values: readonly StoredValue[] | undefined
  #gaps: IndexGaps | undefined
  #text: string | undefined

  private constructor(
    values: readonly StoredValue[] | undefined,
    gaps: IndexGaps | undefined,
    text: string | undefined,
  ) {
    this.#values = values
    this.#gaps = gaps
    this.#text = text
  }

  static of(values: readonly StoredValue[], gaps: IndexGaps = noGaps): ObjectAttributes {
    if (values.length === 0 && Object.keys(gaps).length === 0) return ObjectAttributes.none
    return new ObjectAttributes(values, gaps, undefined)
  }

  /** @param text of the row; empty = there are none */
  static stored(text: string): ObjectAttributes {
    return text === '' ? ObjectAttributes.none : new ObjectAttributes(undefined, undefined, text)
  }

  /** For the row; empty = there are none. */
  get text(): string {
    const hasGaps = Object.keys(this.#gaps ?? noGaps).length > 0
    this.#text ??= JSON.stringify({ attributes: this.#values, ...(hasGaps && { indexGaps: this.#gaps }) })
    return this.#text
  }

  get values(): readonly StoredValue[] {
    return this.#values ?? this.#parse().values
  }

  get indexGaps(): IndexGaps {
    return this.#gaps ?? this.#parse().gaps
  }

  /** Value of a single-valued attribute; the last one if it is present twice. */
  get<Name extends AttributeName>(name: Name): AttributeValues[Name] | undefined {
    const stored = this.values.findLast(({ tag }) => tag === name)
    return stored === undefined ? undefined : decode(name, stored)
  }

  /** These attributes with new values of single-valued ones; undefined removes an attribute. */
  with(changes: Partial<{ [Name in AttributeName]: AttributeValues[Name] | undefined }>): ObjectAttributes {
    const kept = this.values.filter(({ tag }) => !(tag in changes))
    const set = Object.entries(changes).flatMap(([name, value]) =>
      value === undefined ? [] : [toStoredValue(name as AttributeName, value)],
    )
    return ObjectAttributes.of([...kept, ...set], this.indexGaps)
  }

  #parse(): { readonly values: readonly StoredValue[]; readonly gaps: IndexGaps } {
    const { attributes, indexGaps } = JSON.parse(this.#text ?? '{"attributes":[]}') as {
      attributes: readonly StoredValue[]
      indexGaps?: IndexGaps
    }
    this.#values = attributes
    this.#gaps = indexGaps ?? noGaps
    return { values: attributes, gaps: this.#gaps }
  }
}

/** An attribute in the form of the row. Dates are Unix milliseconds, kept as whole seconds. */
export function toStoredValue<Name extends AttributeName>(
  name: Name,
  value: AttributeValues[Name],
): StoredValue {
  const { type } = attributeTable[name]
  return { tag: name, type, value: encode(type, value) }
}

function encode(type: AttributeType, value: AttributeValues[AttributeName]): StoredValue['value'] {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex').toUpperCase()
  if (type === 'DateTime' && typeof value === 'number')
    return new Date(value).toISOString().replace(/\.\d+Z$/, 'Z')
  return value
}

function decode<Name extends AttributeName>(name: Name, { value }: StoredValue): AttributeValues[Name] {
  const { type } = attributeTable[name]
  if (typeof value === 'string' && type === 'DateTime') return dateIn(value) as AttributeValues[Name]
  if (typeof value === 'string' && type === 'ByteString')
    return Buffer.from(value, 'hex') as Uint8Array as AttributeValues[Name]
  return value as AttributeValues[Name]
}

/** RFC 3339, or seconds as 16 hexadecimal digits if the year does not have four digits. */
export function dateIn(text: string): number {
  return text.startsWith('0x') ? Number(BigInt.asIntN(64, BigInt(text))) * 1000 : Date.parse(text)
}

const generator = Object.freeze([
  { tag: 'RNGAlgorithm', type: 'Enumeration', value: 'DRBG' },
  { tag: 'CryptographicAlgorithm', type: 'Enumeration', value: 'AES' },
  { tag: 'CryptographicLength', type: 'Integer', value: 256 },
  { tag: 'DRBGAlgorithm', type: 'Enumeration', value: 'CTR' },
])

/** Origin of a key that was generated here: OpenSSL's generator, CTR_DRBG with AES-256 (SP 800-90A §10.2). */
export function createGenerationAttributes(now: number): readonly StoredValue[] {
  return [toStoredValue('OriginalCreationDate', now), toStoredValue('RandomNumberGenerator', generator)]
}
