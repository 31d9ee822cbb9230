import { join, leb, list, Reader, text } from './bytes.ts'
import { covercryptError } from './error.ts'
import {
  type Attribute,
  checkName,
  type Dimension,
  listRights,
  type SecurityMode,
  type Structure,
} from './structure.ts'

const version = 1
/** Codes of the modes in attributes and in keys; encapsulations have others. */
export const keyModes: readonly SecurityMode[] = ['Classic', 'Hybridized', 'PostQuantum']

/** @throws CovercryptError malformed */
export function decodeStructure(bytes: Uint8Array): Structure {
  const reader = new Reader(bytes, 'access structure')
  const structure = readStructure(reader)
  reader.end()
  return structure
}

export function readStructure(reader: Reader): Structure {
  reader.code([version], 'the version of the access structure')
  const dimensions = reader.list(3, () => readDimension(reader))
  if (new Set(dimensions.map(({ name }) => name)).size !== dimensions.length)
    reader.refuse('a dimension is repeated')
  return { dimensions }
}

function readDimension(reader: Reader): Dimension {
  const name = reader.text()
  const ordered = reader.flag('the kind of a dimension')
  const nameOrder = ordered ? reader.list(2, () => [reader.text(), reader.leb()] as const) : undefined
  const attributes = reader.list(4, () => readAttribute(reader))
  if (new Set(attributes.map((one) => one.name)).size !== attributes.length)
    reader.refuse('an attribute is repeated')
  if (nameOrder === undefined) return { name, ordered, attributes }
  const agrees = nameOrder.every(([listed, index]) => attributes[index]?.name === listed)
  const positions = nameOrder.map(([, index]) => index)
  if (!agrees || new Set(positions).size !== attributes.length || positions.length !== attributes.length)
    reader.refuse('the names of a hierarchy do not match its attributes')
  return { name, ordered, attributes, nameOrder: positions }
}

function readAttribute(reader: Reader): Attribute {
  const name = reader.text()
  const id = reader.leb()
  const mode = keyModes[reader.code([0, 1, 2], 'a security mode')] as SecurityMode
  return { name, id, mode, enabled: reader.flag('the status of an attribute') }
}

export function encodeStructure(structure: Structure): Uint8Array<ArrayBuffer> {
  return join([leb(version), list(structure.dimensions.map(encodeDimension))])
}

function encodeDimension({ name, ordered, attributes, nameOrder }: Dimension): Uint8Array {
  const order = nameOrder ?? attributes.keys().toArray()
  const names = order.map((index) => join([text(attributes[index]?.name ?? ''), leb(index)]))
  const body = list(attributes.map(encodeAttribute))
  return join([text(name), leb(ordered ? 1 : 0), ...(ordered ? [list(names)] : []), body])
}

function encodeAttribute({ name, id, mode, enabled }: Attribute): Uint8Array {
  return join([text(name), leb(id), leb(keyModes.indexOf(mode)), leb(enabled ? 1 : 0)])
}

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
