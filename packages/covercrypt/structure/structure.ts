/** Protection of a right: ristretto255, ML-KEM-512, or both. */
export type SecurityMode = 'Classic' | 'PostQuantum' | 'Hybridized'

/** From the weakest to the strongest: a right has the strongest mode of its attributes. */
const strength: readonly SecurityMode[] = ['Classic', 'PostQuantum', 'Hybridized']

export function strongest(modes: readonly SecurityMode[]): SecurityMode {
  return modes.reduce(
    (left, right) => (strength.indexOf(right) > strength.indexOf(left) ? right : left),
    'Classic',
  )
}

export interface Attribute {
  readonly name: string
  /** Names the attribute within rights; never changes. */
  readonly id: number
  readonly mode: SecurityMode
  /** A disabled attribute still decrypts, but new data cannot be encrypted for it. */
  readonly enabled: boolean
}

export interface Dimension {
  readonly name: string
  /** Whether the attributes form a hierarchy, in which a higher one includes those below it. */
  readonly ordered: boolean
  /** In a hierarchy from the lowest to the highest. */
  readonly attributes: readonly Attribute[]
  /**
   * The order of the names in a parsed hierarchy, as positions in `attributes`. The format does not define it, so it
   * is stored to write the same bytes again. Absent: the order of `attributes`.
   */
  readonly nameOrder?: readonly number[]
}

export interface Structure {
  readonly dimensions: readonly Dimension[]
}

export function listAttributes(structure: Structure): readonly Attribute[] {
  return structure.dimensions.flatMap(({ attributes }) => attributes)
}

/** `Dimension::Name`. */
export function formatQualifiedName(dimension: Dimension, attribute: Attribute): string {
  return `${dimension.name}::${attribute.name}`
}
