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
  /** A disabled attribute still decrypts, and nothing is encrypted for it any more. */
  readonly enabled: boolean
}

export interface Dimension {
  readonly name: string
  /** Whether the attributes form a hierarchy, in which a higher one includes those below it. */
  readonly ordered: boolean
  /** In a hierarchy from the lowest to the highest. */
  readonly attributes: readonly Attribute[]
  /**
   * The order in which a hierarchy that was read lists its names, as positions in `attributes`. The format leaves it
   * free, so it is kept in order to write the same bytes again. Absent: the order of `attributes`.
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
