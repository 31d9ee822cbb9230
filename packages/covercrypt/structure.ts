import { join, leb, Reader } from './bytes.ts'
import { covercryptError } from './error.ts'

/** Protection of a right: ristretto255, ML-KEM-512, or both. */
export type SecurityMode = 'Classic' | 'PostQuantum' | 'Hybridized'

/** From the weakest to the strongest: a right has the strongest mode of its attributes. */
const strength: readonly SecurityMode[] = ['Classic', 'PostQuantum', 'Hybridized']

function strongest(modes: readonly SecurityMode[]): SecurityMode {
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

/** Bytes of the name of a dimension or of an attribute. */
const maxNameBytes = 255

/** Between the name of a dimension and that of an attribute. */
const separator = '::'

/** The name of an attribute with that of its dimension. */
export interface AttributeName {
  readonly dimension: string
  readonly name: string
}

/**
 * Validates a name for use in policies: not empty, no surrounding blanks, no `::`, none of `( ) & |`, no control
 * characters, and no leading `*`.
 *
 * @throws CovercryptError invalid_structure
 */
export function checkName(name: string, what: string): string {
  const shown = JSON.stringify(name.slice(0, 40))
  const refuse = (reason: string): never => {
    throw covercryptError('invalid_structure', `The name ${shown} of ${what} cannot be used: ${reason}.`)
  }
  if (name === '') refuse('it is empty')
  if (Buffer.byteLength(name) > maxNameBytes) refuse(`it exceeds ${maxNameBytes} bytes`)
  if (!name.isWellFormed()) refuse('it is not Unicode text')
  if (name !== name.trim()) refuse('blanks surround it')
  if (/::|^:|:$/.test(name))
    refuse('it contains ::, or begins or ends with a colon; :: separates a dimension from an attribute')
  if (/[()&|]/.test(name)) refuse('it contains one of ( ) & |, which policies use as operators')
  if (/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/u.test(name)) refuse('it contains a control or invisible character')
  if (name.startsWith('*')) refuse('it begins with *, which means every right')
  return name
}

/**
 * Reads `Dimension::Name`: one `::` and no colon beside it, neither side empty, blanks around both cut.
 *
 * @throws CovercryptError invalid_policy
 */
export function parseAttributeName(text: string): AttributeName {
  const [dimension, name, more] = text.split(separator, 3)
  const attribute = { dimension: (dimension ?? '').trim(), name: (name ?? '').trim() }
  if (attribute.dimension === '' || attribute.name === '' || more !== undefined || text.includes(':::'))
    throw covercryptError(
      'invalid_policy',
      `${JSON.stringify(text.slice(0, 80))} is not an attribute: write Dimension::Name.`,
    )
  return attribute
}

/** At most one attribute of each dimension, as the hexadecimal of their ids in order, each LEB128. Empty: the broadcast right. */
export type Right = string

/** Every user key has this right, and a ciphertext for the policy `*` requires only this one. */
export const broadcast: Right = ''

/** Maximum number of rights of a structure: the product, over the dimensions, of one more than their attributes. */
export const maxRights = 4096

export function toRight(ids: readonly number[]): Right {
  const sorted = ids.toSorted((left, right) => left - right)
  return Buffer.from(join(sorted.map(leb))).toString('hex')
}

/** Reads the ids of the attributes of a right. @throws CovercryptError malformed */
export function readAttributeIds(right: Right): readonly number[] {
  const reader = new Reader(Buffer.from(right, 'hex'), 'right')
  const ids: number[] = []
  while (reader.left > 0) ids.push(reader.leb())
  return ids
}

export interface RightState {
  readonly mode: SecurityMode
  /** Whether data may be encrypted for it: none of its attributes is disabled. */
  readonly enabled: boolean
}

/**
 * All combinations of at most one choice for each dimension.
 *
 * @throws CovercryptError too_large
 */
export function combinations(choices: readonly (readonly Attribute[])[]): (readonly Attribute[])[] {
  const size = choices.reduce((product, list) => product * (list.length + 1), 1)
  if (size > maxRights)
    throw covercryptError(
      'too_large',
      `The access structure spans ${size} rights, more than the maximum of ${maxRights}.`,
    )
  let found: (readonly Attribute[])[] = [[]]
  for (const list of choices)
    found = found.flatMap((chosen) => [chosen, ...list.map((attribute) => [...chosen, attribute])])
  return found
}

/** Lists every right of the structure. @throws CovercryptError too_large */
export function listRights(structure: Structure): ReadonlyMap<Right, RightState> {
  const rights = new Map<Right, RightState>()
  for (const chosen of combinations(structure.dimensions.map(({ attributes }) => attributes))) {
    const right = toRight(chosen.map(({ id }) => id))
    const enabled = chosen.every((attribute) => attribute.enabled)
    rights.set(right, { mode: strongest(chosen.map(({ mode }) => mode)), enabled })
  }
  return rights
}

/**
 * Finds ids that several attributes share. The deployed implementation reuses the ids of deleted attributes: a user
 * with the rights of one such attribute has those of the other.
 */
export function findSharedIds(structure: Structure): ReadonlySet<number> {
  const seen = new Set<number>()
  const shared = new Set<number>()
  for (const { id } of listAttributes(structure)) {
    if (seen.has(id)) shared.add(id)
    seen.add(id)
  }
  return shared
}

/**
 * Returns the lowest id that was never used in the structure: ids below `floor` belonged to deleted attributes and
 * are not reused.
 */
export function nextAttributeId(structure: Structure, floor: number): number {
  return listAttributes(structure).reduce((next, { id }) => Math.max(next, id + 1), floor)
}

export interface NewAttribute extends AttributeName {
  readonly mode: SecurityMode
  /** In a hierarchy: the attribute just below the new one; undefined makes the new one the lowest. */
  readonly after: string | undefined
}

/** @throws CovercryptError invalid_structure, unknown_attribute */
export function addAttribute(structure: Structure, wanted: NewAttribute, id: number): Structure {
  const dimension = findDimension(structure, wanted.dimension)
  checkName(wanted.name, 'an attribute')
  refuseTaken(dimension, wanted.name)
  const attribute = { name: wanted.name, id, mode: wanted.mode, enabled: true }
  if (!dimension.ordered && wanted.after !== undefined)
    throw covercryptError(
      'invalid_structure',
      `The dimension ${dimension.name} is not a hierarchy, so its attributes have no order.`,
    )
  const below = wanted.after === undefined ? 0 : findIndex(dimension, wanted.after) + 1
  const attributes = dimension.ordered
    ? dimension.attributes.toSpliced(below, 0, attribute)
    : [...dimension.attributes, attribute]
  return replaceDimension(structure, dimension, attributes)
}

/** @throws CovercryptError invalid_structure, unknown_attribute */
export function renameAttribute(structure: Structure, old: AttributeName, name: string): Structure {
  const dimension = findDimension(structure, old.dimension)
  const index = findIndex(dimension, old.name)
  checkName(name, 'an attribute')
  refuseTaken(dimension, name)
  const attribute = { ...(dimension.attributes[index] as Attribute), name }
  return replaceDimension(structure, dimension, dimension.attributes.with(index, attribute))
}

/** @throws CovercryptError unknown_attribute */
export function disableAttribute(structure: Structure, name: AttributeName): Structure {
  const dimension = findDimension(structure, name.dimension)
  const index = findIndex(dimension, name.name)
  const attribute = { ...(dimension.attributes[index] as Attribute), enabled: false }
  return replaceDimension(structure, dimension, dimension.attributes.with(index, attribute))
}

/** @throws CovercryptError unknown_attribute */
export function deleteAttribute(structure: Structure, name: AttributeName): Structure {
  const dimension = findDimension(structure, name.dimension)
  return replaceDimension(
    structure,
    dimension,
    dimension.attributes.toSpliced(findIndex(dimension, name.name), 1),
  )
}

/** @throws CovercryptError unknown_attribute */
export function findDimension(structure: Structure, name: string): Dimension {
  const dimension = structure.dimensions.find((one) => one.name === name)
  if (dimension === undefined)
    throw covercryptError(
      'unknown_attribute',
      `The access structure has no dimension ${JSON.stringify(name)}.`,
    )
  return dimension
}

/** @throws CovercryptError unknown_attribute */
export function findAttribute(dimension: Dimension, name: string): Attribute {
  return dimension.attributes[findIndex(dimension, name)] as Attribute
}

function findIndex(dimension: Dimension, name: string): number {
  const index = dimension.attributes.findIndex((one) => one.name === name)
  if (index < 0)
    throw covercryptError(
      'unknown_attribute',
      `The dimension ${dimension.name} has no attribute ${JSON.stringify(name)}.`,
    )
  return index
}

function refuseTaken(dimension: Dimension, name: string): void {
  if (dimension.attributes.some((one) => one.name === name))
    throw covercryptError(
      'invalid_structure',
      `The dimension ${dimension.name} already has an attribute ${name}.`,
    )
}

function replaceDimension(structure: Structure, old: Dimension, attributes: readonly Attribute[]): Structure {
  const { name, ordered } = old
  const renewed: Dimension = { name, ordered, attributes }
  return { dimensions: structure.dimensions.map((one) => (one === old ? renewed : one)) }
}
