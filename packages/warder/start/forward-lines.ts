import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/**
 * What another process writes, line by line. It gets a pipe of its own, not the output of this one: whether a write waits
 * for its reader is a property of the open file, so processes that share one decide for each other.
 */
export function forwardLines(from: Readable | null, write: (line: string) => void): void {
  if (from !== null) createInterface({ input: from }).on('line', write)
}
