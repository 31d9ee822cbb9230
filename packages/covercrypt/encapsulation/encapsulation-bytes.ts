import { Reader } from '../bytes/reader.ts'
import { join, leb, list } from '../bytes/writer.ts'
import { maxTargets } from '../policy/rights.ts'
import { isPoint, pointBytes } from '../primitives/group.ts'
import { kemCiphertextBytes } from '../primitives/kem.ts'
import type { SecurityMode } from '../structure/structure.ts'
import { type Encapsulation, seedBytes, type Target, tagBytes } from './encapsulation.ts'

/** Codes of the modes in encapsulations; keys have others. */
const modes: readonly SecurityMode[] = ['Classic', 'PostQuantum', 'Hybridized']

/** Reads exactly one encapsulation. @throws CovercryptError malformed */
export function decodeEncapsulation(bytes: Uint8Array): Encapsulation {
  const reader = new Reader(bytes, 'encapsulation')
  const encapsulation = readEncapsulation(reader)
  reader.end()
  return encapsulation
}

export function readEncapsulation(reader: Reader): Encapsulation {
  const mode = modes[reader.code([0, 1, 2], 'the mode of the encapsulation')] as SecurityMode
  const tag = reader.take(tagBytes)
  const points = mode === 'PostQuantum' ? [] : reader.list(pointBytes, () => readPoint(reader))
  if (mode !== 'PostQuantum' && points.length === 0) reader.refuse('it has no points')
  const targetBytes = seedBytes + (mode === 'Classic' ? 0 : kemCiphertextBytes)
  const targets = reader.list(targetBytes, (): Target => {
    const kemCiphertext = mode === 'Classic' ? undefined : reader.take(kemCiphertextBytes)
    return { kemCiphertext, maskedSeed: reader.take(seedBytes) }
  })
  if (targets.length === 0 || targets.length > maxTargets)
    reader.refuse(`it is for ${targets.length} rights, not 1 to ${maxTargets}`)
  return { mode, tag, points, targets }
}

function readPoint(reader: Reader): Uint8Array {
  const point = reader.take(pointBytes)
  return isPoint(point) ? point : reader.refuse('a point is the identity or not canonically encoded')
}

export function encodeEncapsulation({ mode, tag, points, targets }: Encapsulation): Uint8Array<ArrayBuffer> {
  return join([
    leb(modes.indexOf(mode)),
    tag,
    ...(mode === 'PostQuantum' ? [] : [list(points)]),
    list(
      targets.map(({ kemCiphertext, maskedSeed }) =>
        kemCiphertext === undefined ? maskedSeed : join([kemCiphertext, maskedSeed]),
      ),
    ),
  ])
}
