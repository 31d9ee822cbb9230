import { addAbortSignal, type Readable } from 'node:stream'
import { StartupError } from '@warder/base'
import type { ProgressOutput } from './progress.ts'
import { type Prompter, terminalPrompter } from './prompter.ts'

/** The terminal of the user, if there is one, and the standard streams. */
export interface UserTerminal {
  readonly prompter: Prompter
  /** Output for a progress bar. */
  readonly screen: ProgressOutput
  readonly input: Readable
  /** Resolves when the bytes were written, or cannot be written any more. */
  writeOutput(bytes: Uint8Array): Promise<void>
  /** Calls back at the first stop signal. @returns a function that removes the listener */
  onInterrupt(stop: (signal: NodeJS.Signals) => void): () => void
}

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The terminal of this process. */
export function openUserTerminal(): UserTerminal {
  return {
    prompter: terminalPrompter(process.stdin, process.stderr),
    screen: process.stderr,
    input: process.stdin,
    writeOutput: (bytes) =>
      new Promise((resolve) => {
        // The error handler of the terminal reports output that cannot be written.
        process.stdout.write(bytes, () => resolve())
      }),
    onInterrupt(stop) {
      const handlers = stopSignals.map((signal) => {
        // Only once: a second signal has its default effect and ends the process.
        const handler = (): void => stop(signal)
        process.once(signal, handler)
        return () => process.off(signal, handler)
      })
      return () => {
        for (const off of handlers) off()
      }
    },
  }
}

/**
 * Reads a piped input to its end.
 * @param most bytes
 * @param signal aborts the read
 * @throws StartupError when it is longer
 */
export async function readAll(input: Readable, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of addAbortSignal(signal, input) as AsyncIterable<Buffer>) {
    size += part.length
    if (size > maxBytes) {
      throw new StartupError(`standard input has more than ${formatSize(maxBytes)}`)
    }
    parts.push(part)
  }
  return Buffer.concat(parts)
}

function formatSize(bytes: number): string {
  return bytes < 1024 * 1024 ? `${bytes / 1024} KiB` : `${bytes / 1024 / 1024} MiB`
}
