import type { Reader } from '../bytes/reader.ts'
import { bytes, join, leb, list } from '../bytes/writer.ts'
import { isPoint, isScalar, type Point, pointBytes, type Scalar, scalarBytes } from '../primitives/group.ts'
import { decapsulationKeyBytes, encapsulationKeyBytes, isDecapsulationKey } from '../primitives/kem.ts'
import { type Right, readAttributeIds } from '../structure/right.ts'
import { keyModes } from '../structure/structure-bytes.ts'
import {
  maxTracers,
  publicMode,
  type RightPublic,
  type RightSecret,
  secretMode,
  type UserId,
} from './key-types.ts'

export function readScalar(reader: Reader): Scalar {
  const scalar = reader.take(scalarBytes)
  return isScalar(scalar) ? scalar : reader.refuse('a scalar is zero or exceeds the order of the group')
}

export function readPoint(reader: Reader): Point {
  const point = reader.take(pointBytes)
  return isPoint(point) ? point : reader.refuse('a point is the identity or not canonically encoded')
}

function readDecapsulationKey(reader: Reader): Uint8Array {
  const key = reader.take(decapsulationKeyBytes)
  return isDecapsulationKey(key) ? key : reader.refuse('an ML-KEM key does not contain its own hash')
}

/** The shortest secret and public part: a mode and a scalar or a point. */
export const minPartBytes = 1 + scalarBytes

export function readSecret(reader: Reader): RightSecret {
  const mode = keyModes[reader.code([0, 1, 2], 'a security mode')]
  return {
    scalar: mode === 'PostQuantum' ? undefined : readScalar(reader),
    decapsulationKey: mode === 'Classic' ? undefined : readDecapsulationKey(reader),
  }
}

export function encodeSecret(secret: RightSecret): Uint8Array {
  const mode = leb(keyModes.indexOf(secretMode(secret)))
  return join([mode, secret.scalar ?? none, secret.decapsulationKey ?? none])
}

export function readPublicPart(reader: Reader): RightPublic {
  const mode = keyModes[reader.code([0, 1, 2], 'a security mode')]
  return {
    point: mode === 'PostQuantum' ? undefined : readPoint(reader),
    encapsulationKey: mode === 'Classic' ? undefined : reader.take(encapsulationKeyBytes),
  }
}

export function encodePublicPart(part: RightPublic): Uint8Array {
  const mode = leb(keyModes.indexOf(publicMode(part)))
  return join([mode, part.point ?? none, part.encapsulationKey ?? none])
}

const none = new Uint8Array(0)

export function readUserId(reader: Reader, tracers?: number): UserId {
  const id = reader.list(scalarBytes, () => readScalar(reader))
  if (id.length === 0 || id.length > maxTracers || (tracers !== undefined && id.length !== tracers))
    reader.refuse('the lengths of a user identifier and the list of tracers differ')
  return id
}

export function encodeUserId(id: UserId): Uint8Array {
  return list(id)
}

/** Reads a map from rights, at least one and none twice. @param minBytes of a value */
export function readRights<Value>(reader: Reader, minBytes: number, read: () => Value): Map<Right, Value> {
  const rights = new Map<Right, Value>()
  const count = reader.count(1 + minBytes)
  if (count === 0) reader.refuse('it has no rights')
  for (let index = 0; index < count; index++) {
    const right = readRight(reader)
    if (rights.has(right)) reader.refuse('a right is repeated')
    rights.set(right, read())
  }
  return rights
}

function readRight(reader: Reader): Right {
  const right = Buffer.from(reader.bytes()).toString('hex')
  readAttributeIds(right)
  return right
}

export function encodeRights<Value>(
  rights: ReadonlyMap<Right, Value>,
  encode: (value: Value) => Uint8Array,
): Uint8Array {
  return list([...rights].map(([right, value]) => join([bytes(Buffer.from(right, 'hex')), encode(value)])))
}
