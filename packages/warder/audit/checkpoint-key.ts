import { createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { StartupError } from '@warder/foundation/errors'

/** The public key of a log's checkpoints in a file. @throws StartupError when the file holds none */
export function readCheckpointKey(path: string): KeyObject {
  try {
    return createPublicKey(readFileSync(path))
  } catch (error) {
    throw new StartupError(
      `${path} holds no public key (PEM): ${error instanceof Error ? error.message : error}`,
    )
  }
}
