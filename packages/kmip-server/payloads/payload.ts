import {
  atLeast,
  type DraftObjectType,
  Enumeration,
  type EnumerationName,
  type ItemType,
  type ItemValues,
  isDraftValue,
  KmipDecodeError,
  type KmipVersion,
  requireType,
  type StructureNode,
  Tag,
  type TtlvNode,
  tagText,
  type ValueName,
  valueName,
} from '@warder/kmip-codec'

/** How many members of a kind a payload may have: one, at most one (`defaulted`: with a default), or any number. */
type Count = 'required' | 'optional' | 'defaulted' | 'repeated'

/**
 * One declared member of a payload or of a structure. A field is optional unless `required` or `repeated`
 * says otherwise. `Value` is the type of a decoded member, `Given` that of a member to encode.
 */
export interface Field<Value = unknown, C extends Count = Count, Given = Value> {
  /** Its tag; several for an object, which has the tag of its type. */
  readonly tags: readonly number[]
  /** Its type, for documentation. */
  readonly kind: string
  readonly count: C
  /** The type of a member whose value is taken as it is; undefined: `read` and `write` convert it. */
  readonly plain: ItemType | undefined
  /** Default for an absent member. */
  readonly absent: unknown
  /** true: a second member is ignored; false: it is an error. */
  readonly isFirst?: boolean
  /** Members from clients of older versions are ignored. */
  readonly since?: KmipVersion
  /** The members of a structure that is declared, too. */
  readonly inner?: Fields
  /** @throws KmipDecodeError `wrong_member`, `unknown_enumeration`, `missing_member`, `repeated_member` */
  read(node: TtlvNode): Value
  write(value: Given): TtlvNode
}

export type Fields = Readonly<Record<string, Field>>

type Counted<C extends Count, Value> = C extends 'repeated' ? readonly Value[] : Value

type ReadValue<F extends Field> =
  | Counted<F['count'], ReturnType<F['read']>>
  | (F['count'] extends 'optional' ? undefined : never)

type GivenValue<F extends Field> = Counted<F['count'], Parameters<F['write']>[0]>

type RequiredNames<F extends Fields> = {
  [Name in keyof F]: F[Name]['count'] extends 'required' ? Name : never
}[keyof F]

/** A decoded payload. */
export type Decoded<F extends Fields> = { readonly [Name in keyof F]: ReadValue<F[Name]> }

/** The input for the encoding of a payload. */
export type Given<F extends Fields> = { readonly [Name in RequiredNames<F>]: GivenValue<F[Name]> } & {
  readonly [Name in Exclude<keyof F, RequiredNames<F>>]?: GivenValue<F[Name]> | undefined
}

/** The declared members of a request, of a reply or of a structure within them, in the order of the standard. */
export interface Payload<F extends Fields = Fields> {
  readonly fields: F
  /**
   * Members that are not declared are ignored.
   * @throws KmipDecodeError `missing_member`, `repeated_member`, `wrong_member`, `unknown_enumeration`
   */
  decode(node: StructureNode, version?: KmipVersion): Decoded<F>
  encode(given: Given<F>): TtlvNode[]
}

export type DecodedPayload<P> = P extends Payload<infer F> ? Decoded<F> : never
export type GivenPayload<P> = P extends Payload<infer F> ? Given<F> : never

/** A field as it is decoded and encoded: objects of one shape, which the loops below read faster than fields. */
interface Entry {
  readonly name: string
  readonly tag: number
  /** Its bit in the mask of the members that are there. */
  readonly bit: number
  readonly plain: ItemType | undefined
  readonly isRepeated: boolean
  readonly isFirst: boolean
  readonly since: KmipVersion | undefined
  readonly field: Field
}

function toEntry([name, field]: readonly [string, Field], index: number): Entry {
  const { tags, plain, count, isFirst = false, since } = field
  const isRepeated = count === 'repeated'
  return { name, tag: tags[0] ?? 0, bit: 1 << index, plain, isRepeated, isFirst, since, field }
}

/**
 * Declares a payload of at most 31 fields.
 * @param repeatedMember the error for a member that must not be repeated
 */
export function definePayload<const F extends Fields>(
  fields: F,
  repeatedMember: (tag: number) => Error = (tag) =>
    new KmipDecodeError('repeated_member', `${tagText(tag)} appears twice.`),
): Payload<F> {
  const entries = Object.entries(fields).map(toEntry)
  const byTag = new Map(entries.flatMap((entry) => entry.field.tags.map((tag) => [tag, entry] as const)))
  const required = entries.filter(({ field }) => field.count === 'required')
  const requiredBits = required.reduce((bits, { bit }) => bits | bit, 0)
  const blank = Object.fromEntries(entries.map(({ name, field }) => [name, field.absent]))
  return {
    fields,
    decode(node, version = '2.1') {
      const read: Record<string, unknown> = { ...blank }
      let seen = 0
      for (const member of node.value) {
        const entry = byTag.get(member.tag)
        if (entry === undefined) continue
        if (entry.since !== undefined && !atLeast(version, entry.since)) continue
        const isSecond = (seen & entry.bit) !== 0
        if (isSecond && !entry.isRepeated) {
          if (entry.isFirst) continue
          throw repeatedMember(member.tag)
        }
        seen |= entry.bit
        const value = member.type === entry.plain ? member.value : entry.field.read(member)
        if (!entry.isRepeated) read[entry.name] = value
        else if (isSecond) (read[entry.name] as unknown[]).push(value)
        else read[entry.name] = [value]
      }
      if ((seen & requiredBits) !== requiredBits) throw toMissingError(required, seen)
      return read as Decoded<F>
    },
    encode(given) {
      const nodes: TtlvNode[] = []
      for (const entry of entries) {
        const value = (given as Readonly<Record<string, unknown>>)[entry.name]
        if (value === undefined) continue
        if (entry.isRepeated) for (const one of value as unknown[]) nodes.push(entry.field.write(one))
        else if (entry.plain === undefined) nodes.push(entry.field.write(value))
        else nodes.push({ tag: entry.tag, type: entry.plain, value } as TtlvNode)
      }
      return nodes
    },
  }
}

function toMissingError(required: readonly Entry[], seen: number): KmipDecodeError {
  const missing = required.find(({ bit }) => (seen & bit) === 0)
  return new KmipDecodeError('missing_member', `${tagText(missing?.tag ?? 0)} is missing.`)
}

/** A payload without members. */
export const noMembers = definePayload({})

/** The same field, which must be there. */
export function required<V, G>(one: Field<V, 'optional', G>): Field<V, 'required', G> {
  return { ...one, count: 'required' }
}

const none: readonly never[] = Object.freeze([])

/** The same field, any number of times. */
export function repeated<V, G>(one: Field<V, 'optional', G>): Field<V, 'repeated', G> {
  return { ...one, count: 'repeated', absent: none }
}

/** The same field, of which a client of an older version knows nothing. */
export function since<V, C extends Count, G>(version: KmipVersion, one: Field<V, C, G>): Field<V, C, G> {
  return { ...one, since: version }
}

type Optional<Value, Given = Value> = Field<Value, 'optional', Given>

function scalar<T extends ItemType>(tag: number, type: T): Optional<ItemValues[T]> {
  return {
    tags: [tag],
    kind: type,
    count: 'optional',
    plain: type,
    absent: undefined,
    read: (node) => requireType(node, type).value as ItemValues[T],
    write: (value) => ({ tag, type, value }) as TtlvNode,
  }
}

function whole(tags: readonly number[], kind: string): Optional<TtlvNode> {
  return {
    tags,
    kind,
    count: 'optional',
    plain: undefined,
    absent: undefined,
    read: (node) => node,
    write: (node) => node,
  }
}

/** The tags of managed objects (KMIP 2.1 §2). */
const objectTags: readonly number[] = [
  Tag.Certificate,
  Tag.CertificateRequest,
  Tag.OpaqueObject,
  Tag.PGPKey,
  Tag.PrivateKey,
  Tag.PublicKey,
  Tag.SecretData,
  Tag.SplitKey,
  Tag.SymmetricKey,
  Tag.Template,
]

/** Names of an enumeration in every version: objects of the types that only 3.0 has are made by their own operations. */
type NamedValue<E extends EnumerationName> = E extends 'ObjectType'
  ? Exclude<ValueName<E>, DraftObjectType>
  : ValueName<E>

/** The kinds of fields. */
export const field = {
  text: (tag: number) => scalar(tag, 'TextString'),
  integer: (tag: number) => scalar(tag, 'Integer'),
  longInteger: (tag: number) => scalar(tag, 'LongInteger'),
  bigInteger: (tag: number) => scalar(tag, 'BigInteger'),
  boolean: (tag: number) => scalar(tag, 'Boolean'),
  bytes: (tag: number) => scalar(tag, 'ByteString'),
  /** Seconds since 1970. */
  date: (tag: number) => scalar(tag, 'DateTime'),
  /** Seconds. */
  interval: (tag: number) => scalar(tag, 'Interval'),
  /** The number of an enumeration, also one without a name. */
  code: (tag: number) => scalar(tag, 'Enumeration'),

  /** A value of the enumeration that is called as the tag is, by its name. */
  named<E extends EnumerationName & keyof typeof Tag>(enumeration: E): Optional<NamedValue<E>> {
    const tag = Tag[enumeration]
    const numbers = Enumeration[enumeration] as Readonly<Record<string, number>>
    return {
      ...scalar(tag, 'Enumeration'),
      plain: undefined,
      read(node) {
        const { value } = requireType(node, 'Enumeration')
        const name = isDraftValue(enumeration, value) ? undefined : valueName(enumeration, value)
        if (name !== undefined) return name as NamedValue<E>
        throw new KmipDecodeError('unknown_enumeration', `${tagText(tag)} has an unknown value.`)
      },
      write: (name) => ({ tag, type: 'Enumeration', value: numbers[name] ?? 0 }),
    }
  },

  /** A boolean that is false when it is absent. */
  flag(tag: number): Field<boolean, 'defaulted'> {
    return { ...scalar(tag, 'Boolean'), count: 'defaulted', absent: false }
  },

  /**
   * The name of an object: text, or a reference that `KmipContext.identifier` resolves. If there are several, the first
   * one counts.
   */
  identifier(tag: number): Optional<TtlvNode, string> {
    return {
      ...whole([tag], 'Identifier'),
      isFirst: true,
      write: (value) => ({ tag, type: 'TextString', value }),
    }
  },

  /** Attributes of an object; none when they are absent. If there are several such structures, the first one counts. */
  attributes(tag: number): Field<readonly TtlvNode[], 'defaulted'> {
    return {
      ...scalar(tag, 'Structure'),
      kind: 'Attributes',
      count: 'defaulted',
      absent: none,
      isFirst: true,
    }
  },

  /** A structure that holds one attribute. */
  attribute(tag: number): Optional<TtlvNode> {
    return {
      ...whole([tag], 'Attribute'),
      read(node) {
        const [one, ...others] = requireType(node, 'Structure').value
        if (one !== undefined && others.length === 0) return one
        throw new KmipDecodeError('wrong_member', `${tagText(tag)} holds one attribute.`)
      },
      write: (attribute) => ({ tag, type: 'Structure', value: [attribute] }),
    }
  },

  /** The name of an attribute: its tag as an Enumeration, or a structure for one of a vendor. */
  reference: (tag: number) => whole([tag], 'Attribute Reference'),

  /** A structure of declared members. */
  group<F extends Fields>(tag: number, fields: F): Optional<Decoded<F>, Given<F>> {
    const inner = definePayload(fields)
    return {
      ...scalar(tag, 'Structure'),
      plain: undefined,
      inner: fields,
      read: (node) => inner.decode(requireType(node, 'Structure')),
      write: (given) => ({ tag, type: 'Structure', value: inner.encode(given) }),
    }
  },

  /** A structure that has its own codec: a key block, parameters, a specification. */
  structure(tag: number): Optional<StructureNode> {
    return { ...whole([tag], 'Structure'), read: (node) => requireType(node, 'Structure') }
  },

  /** A member that is not checked here. @param kind its type, for documentation; @param tag one or several */
  node: (tag: number | readonly number[], kind: string) => whole([tag].flat(), kind),

  /** A managed object, whose tag is its type. */
  object: () => whole(objectTags, 'Managed Object'),
}
