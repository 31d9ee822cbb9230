import { covercryptError } from '../error.ts'
import { checkName } from './names.ts'
import { listRights } from './right.ts'
import type { Attribute, Dimension, Structure } from './structure.ts'

/** At the end of the name of a dimension: a hierarchy, its attributes from the lowest to the highest. */
const hierarchySuffix = '::<'
/** At the end of the name of an attribute: ristretto255 and ML-KEM-512 together. */
const hybridSuffix = '::+'

/**
 * Reads a structure from parsed JSON: `{"Clearance::<":["Public","Secret::+"],"Team":["Blue","Green"]}`. Attributes
 * get the ids 0, 1, 2 … in the order of the dimensions, each list from its last name to its first.
 *
 * @throws CovercryptError invalid_structure, too_large
 */
export function structureFromJson(value: unknown): Structure {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw covercryptError(
      'invalid_structure',
      'An access structure is an object: dimension to list of attributes.',
    )
  let nextId = 0
  const dimensions = Object.entries(value).map(([name, names]): Dimension => {
    const attributes = attributeList(name, names)
    const first = nextId
    nextId += attributes.length
    const identified = attributes.map((one, index) => ({ ...one, id: first + attributes.length - 1 - index }))
    const ordered = name.endsWith(hierarchySuffix)
    return { name: dimensionName(name), ordered, attributes: identified }
  })
  if (new Set(dimensions.map(({ name }) => name)).size !== dimensions.length)
    throw covercryptError(
      'invalid_structure',
      'The access structure has a dimension twice, with and without ::<.',
    )
  const structure = { dimensions }
  listRights(structure)
  return structure
}

function dimensionName(written: string): string {
  const name = written.endsWith(hierarchySuffix) ? written.slice(0, -hierarchySuffix.length) : written
  return checkName(name, 'a dimension')
}

function attributeList(dimension: string, value: unknown): readonly Omit<Attribute, 'id'>[] {
  const shown = JSON.stringify(dimension.slice(0, 40))
  if (!Array.isArray(value) || !value.every((name) => typeof name === 'string'))
    throw covercryptError(
      'invalid_structure',
      `The dimension ${shown} must be a list of names of attributes.`,
    )
  const attributes = (value as readonly string[]).map((written) => {
    const hybrid = written.endsWith(hybridSuffix)
    const name = checkName(hybrid ? written.slice(0, -hybridSuffix.length) : written, 'an attribute')
    return { name, mode: hybrid ? 'Hybridized' : 'Classic', enabled: true } as const
  })
  if (new Set(attributes.map(({ name }) => name)).size !== attributes.length)
    throw covercryptError('invalid_structure', `The dimension ${shown} has an attribute twice.`)
  return attributes
}
