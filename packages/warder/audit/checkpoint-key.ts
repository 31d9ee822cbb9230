import { createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { StartupError } from '@warder/base'

/** Reads the public key that verifies the checkpoints of a log. @throws StartupError when the file contains none */
export function readCheckpointKey(path: string): KeyObject {
  try {
    return createPublicKey(readFileSync(path))
  } catch (error) {
    throw new StartupError(
      `${path} contains no public key (PEM): ${error instanceof Error ? error.message : error}`,
    )
  }
}
