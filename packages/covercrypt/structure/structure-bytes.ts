import { Reader } from '../bytes/reader.ts'
import { join, leb, list, text } from '../bytes/writer.ts'
import type { Attribute, Dimension, SecurityMode, Structure } from './structure.ts'

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
