import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/**
 * Forwards the output of another process, line by line. The process has its own pipe instead of the output of this one,
 * because blocking mode is a property of the open file, which processes would share.
 */
export function forwardLines(from: Readable | null, write: (line: string) => void): void {
  if (from !== null) createInterface({ input: from }).on('line', write)
}
