import { addAbortSignal, type Readable } from 'node:stream'
import { StartupError } from '@warder/foundation/errors'
import type { ProgressOutput } from './progress.ts'
import { type Prompter, terminalPrompter } from './prompter.ts'

/** The person at the terminal, who may be nobody, and what is piped through. */
export interface UserTerminal {
  readonly prompter: Prompter
  /** Output for a progress bar. */
  readonly screen: ProgressOutput
  readonly input: Readable
  /** Resolves when the bytes were taken, or never will be. */
  writeOutput(bytes: Uint8Array): Promise<void>
  /** Calls back once, at the first signal that asks to stop. @returns how to stop listening */
  onInterrupt(stop: (signal: NodeJS.Signals) => void): () => void
}

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The one who runs this process. */
export function openUserTerminal(): UserTerminal {
  return {
    prompter: terminalPrompter(process.stdin, process.stderr),
    screen: process.stderr,
    input: process.stdin,
    writeOutput: (bytes) =>
      new Promise((resolve) => {
        // Output that is not taken is told by the terminal, once for every command.
        process.stdout.write(bytes, () => resolve())
      }),
    onInterrupt(stop) {
      const handlers = stopSignals.map((signal) => {
        // Once: a second signal does what it does without us, and ends the process.
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
 * All of a piped input, or none of it.
 * @param most bytes
 * @param signal ends the waiting for input
 * @throws StartupError when there are more
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
