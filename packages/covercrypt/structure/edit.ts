import { covercryptError } from '../error.ts'
import { type AttributeName, checkName } from './names.ts'
import {
  type Attribute,
  type Dimension,
  listAttributes,
  type SecurityMode,
  type Structure,
} from './structure.ts'

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
