import { timingSafeEqual } from 'node:crypto'
import { bytes, join, leb, list, Reader } from './bytes.ts'
import {
  type MasterKey,
  maxTracers,
  type PublicKey,
  publicMode,
  type Revision,
  type RightPublic,
  type RightSecret,
  secretMode,
  signatureBytes,
  signingKeyBytes,
  type Tracer,
  type UserId,
  type UserKey,
} from './keys.ts'
import {
  baseTimes,
  decapsulationKeyBytes,
  encapsulationKeyBytes,
  isDecapsulationKey,
  isPoint,
  isScalar,
  type Point,
  pointBytes,
  type Scalar,
  scalarBytes,
} from './primitives.ts'
import { maxRights, type Right, readAttributeIds } from './structure.ts'
import { encodeStructure, keyModes, readStructure } from './structure-formats.ts'

function readScalar(reader: Reader): Scalar {
  const scalar = reader.take(scalarBytes)
  return isScalar(scalar) ? scalar : reader.refuse('a scalar is zero or exceeds the order of the group')
}

function readPoint(reader: Reader): Point {
  const point = reader.take(pointBytes)
  return isPoint(point) ? point : reader.refuse('a point is the identity or not canonically encoded')
}

function readDecapsulationKey(reader: Reader): Uint8Array {
  const key = reader.take(decapsulationKeyBytes)
  return isDecapsulationKey(key) ? key : reader.refuse('an ML-KEM key does not contain its own hash')
}

/** The shortest secret and public part: a mode and a scalar or a point. */
const minPartBytes = 1 + scalarBytes

function readSecret(reader: Reader): RightSecret {
  const mode = keyModes[reader.code([0, 1, 2], 'a security mode')]
  return {
    scalar: mode === 'PostQuantum' ? undefined : readScalar(reader),
    decapsulationKey: mode === 'Classic' ? undefined : readDecapsulationKey(reader),
  }
}

function encodeSecret(secret: RightSecret): Uint8Array {
  const mode = leb(keyModes.indexOf(secretMode(secret)))
  return join([mode, secret.scalar ?? none, secret.decapsulationKey ?? none])
}

function readPublicPart(reader: Reader): RightPublic {
  const mode = keyModes[reader.code([0, 1, 2], 'a security mode')]
  return {
    point: mode === 'PostQuantum' ? undefined : readPoint(reader),
    encapsulationKey: mode === 'Classic' ? undefined : reader.take(encapsulationKeyBytes),
  }
}

function encodePublicPart(part: RightPublic): Uint8Array {
  const mode = leb(keyModes.indexOf(publicMode(part)))
  return join([mode, part.point ?? none, part.encapsulationKey ?? none])
}

const none = new Uint8Array(0)

function readUserId(reader: Reader, tracers?: number): UserId {
  const id = reader.list(scalarBytes, () => readScalar(reader))
  if (id.length === 0 || id.length > maxTracers || (tracers !== undefined && id.length !== tracers))
    reader.refuse('the lengths of a user identifier and the list of tracers differ')
  return id
}

export function encodeUserId(id: UserId): Uint8Array {
  return list(id)
}

/** Reads a map from rights, at least one and none twice. @param minBytes of a value */
function readRights<Value>(reader: Reader, minBytes: number, read: () => Value): Map<Right, Value> {
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

function encodeRights<Value>(
  rights: ReadonlyMap<Right, Value>,
  encode: (value: Value) => Uint8Array,
): Uint8Array {
  return list([...rights].map(([right, value]) => join([bytes(Buffer.from(right, 'hex')), encode(value)])))
}

/** Reads a master key. @throws CovercryptError malformed, too_large */
export function decodeMasterKey(bytes: Uint8Array): MasterKey {
  const reader = new Reader(bytes, 'master key')
  const scalar = readScalar(reader)
  const tracers = reader.list(scalarBytes + pointBytes, () => readTracer(reader))
  checkTracers(reader, tracers.length)
  const users = reader.list(1 + scalarBytes, () => readUserId(reader, tracers.length))
  const rights = readRights(reader, 2 + minPartBytes, () => readRevisions(reader))
  checkRights(reader, rights.size)
  if (!reader.flag('an option')) reader.refuse('it has no signing key for user keys')
  const signingKey = reader.take(signingKeyBytes)
  const structure = readStructure(reader)
  reader.end()
  return { scalar, tracers, users, rights, signingKey, structure }
}

function readTracer(reader: Reader): Tracer {
  const tracer = { scalar: readScalar(reader), point: readPoint(reader) }
  if (!timingSafeEqual(baseTimes(tracer.scalar), tracer.point))
    reader.refuse('a tracer contradicts its point')
  return tracer
}

function readRevisions(reader: Reader): readonly Revision[] {
  const revisions = reader.list(1 + minPartBytes, () => {
    const enabled = reader.flag('the status of a right')
    return { enabled, secret: readSecret(reader) }
  })
  if (revisions.length === 0) reader.refuse('a right has no secret')
  return revisions
}

export function encodeMasterKey(master: MasterKey): Uint8Array<ArrayBuffer> {
  const { scalar, tracers, users, rights, signingKey, structure } = master
  return join([
    scalar,
    list(tracers.map((tracer) => join([tracer.scalar, tracer.point]))),
    list(users.map(encodeUserId)),
    encodeRights(rights, (revisions) =>
      list(revisions.map(({ enabled, secret }) => join([leb(enabled ? 1 : 0), encodeSecret(secret)]))),
    ),
    leb(1),
    signingKey,
    encodeStructure(structure),
  ])
}

/** Reads a public key. @throws CovercryptError malformed, too_large */
export function decodePublicKey(bytes: Uint8Array): PublicKey {
  const reader = new Reader(bytes, 'public key')
  const tracingPoints = readTracingPoints(reader)
  const rights = readRights(reader, minPartBytes, () => readPublicPart(reader))
  checkRights(reader, rights.size)
  const structure = readStructure(reader)
  reader.end()
  return { tracingPoints, rights, structure }
}

export function encodePublicKey({ tracingPoints, rights, structure }: PublicKey): Uint8Array<ArrayBuffer> {
  return join([list(tracingPoints), encodeRights(rights, encodePublicPart), encodeStructure(structure)])
}

/** Reads a user key; its signature is verified when it is refreshed. @throws CovercryptError malformed, too_large */
export function decodeUserKey(bytes: Uint8Array): UserKey {
  const reader = new Reader(bytes, 'user key')
  const id = readUserId(reader)
  const tracingPoints = readTracingPoints(reader)
  if (tracingPoints.length !== id.length) reader.refuse('its numbers of tracers and scalars differ')
  const rights = readRights(reader, 1 + minPartBytes, () => {
    const secrets = reader.list(minPartBytes, () => readSecret(reader))
    return secrets.length === 0 ? reader.refuse('a right has no secret') : secrets
  })
  checkRights(reader, rights.size)
  const signature = reader.flag('an option') ? reader.take(signatureBytes) : undefined
  reader.end()
  return { id, tracingPoints, rights, signature }
}

export function encodeUserKey({ id, tracingPoints, rights, signature }: UserKey): Uint8Array<ArrayBuffer> {
  const option = signature === undefined ? [leb(0)] : [leb(1), signature]
  return join([encodeUserId(id), list(tracingPoints), encodeUserRights(rights), ...option])
}

/** The rights of a user key as they are written and signed. */
export function encodeUserRights(rights: ReadonlyMap<Right, readonly RightSecret[]>): Uint8Array {
  return encodeRights(rights, (secrets) => list(secrets.map(encodeSecret)))
}

function readTracingPoints(reader: Reader): Uint8Array[] {
  const points = reader.list(pointBytes, () => readPoint(reader))
  checkTracers(reader, points.length)
  return points
}

function checkTracers(reader: Reader, count: number): void {
  if (count === 0 || count > maxTracers) reader.refuse(`it has ${count} tracers, not 1 to ${maxTracers}`)
}

function checkRights(reader: Reader, count: number): void {
  if (count > maxRights) reader.refuse(`it has ${count} rights, more than the maximum of ${maxRights}`)
}
