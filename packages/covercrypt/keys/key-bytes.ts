import { timingSafeEqual } from 'node:crypto'
import { Reader } from '../bytes/reader.ts'
import { join, leb, list } from '../bytes/writer.ts'
import { baseTimes, pointBytes, scalarBytes } from '../primitives/group.ts'
import { maxRights, type Right } from '../structure/right.ts'
import { encodeStructure, readStructure } from '../structure/structure-bytes.ts'
import {
  encodePublicPart,
  encodeRights,
  encodeSecret,
  encodeUserId,
  minPartBytes,
  readPoint,
  readPublicPart,
  readRights,
  readScalar,
  readSecret,
  readUserId,
} from './key-parts.ts'
import {
  type MasterKey,
  maxTracers,
  type PublicKey,
  type Revision,
  type RightSecret,
  signatureBytes,
  signingKeyBytes,
  type Tracer,
  type UserKey,
} from './key-types.ts'

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

/** Reads a user key; whether its signature is right is seen when it is refreshed. @throws CovercryptError malformed, too_large */
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
