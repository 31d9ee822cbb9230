import { addAbortSignal, type Readable, type Writable } from 'node:stream'
import { StartupError } from '@warder/base'
import type { ProgressOutput } from './progress.ts'

/** Prompts the user at the terminal, if there is one. */
export interface Prompter {
  /** false: without a terminal every question would wait forever. */
  readonly interactive: boolean
  /** @param signal cancels the question with NoAnswer */
  ask(question: string, signal?: AbortSignal): Promise<string>
  /** Does not echo the answer. */
  askSecret(question: string, signal?: AbortSignal): Promise<string>
}

/** A stream with the members of a terminal. */
export interface TerminalInput extends Readable {
  readonly isTTY?: boolean
  setRawMode?(on: boolean): unknown
}

/** Bounds the length of a typed line. */
const maxAnswerLength = 4096
const [interrupt, endOfInput, backspace, erase] = ['\u0003', '\u0004', '\b', '\u007f']

/** The question was not answered: end of input, or Ctrl-C. Commands ask before they change something. */
export class NoAnswer extends StartupError {
  constructor() {
    super('nothing was changed: the question was not answered')
  }
}

/** Prompts on `output` (standard error, because standard output is for programs) and reads lines from `input`. */
export function terminalPrompter(input: TerminalInput, output: Writable): Prompter {
  /** Reads key by key in raw mode, so that secrets are not echoed. */
  async function read(question: string, secret: boolean, signal?: AbortSignal): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    let line: string[] = []
    function handleKey(key: string): void {
      if (key === '\r' || key === '\n') resolve(line.join(''))
      else if (key === interrupt || key === endOfInput) reject(new NoAnswer())
      else if (key === backspace || key === erase) {
        if (line.length > 0 && !secret) output.write('\b \b')
        line = line.slice(0, -1)
      } else if (key >= ' ' && line.length < maxAnswerLength) {
        line.push(key)
        if (!secret) output.write(key)
      }
    }
    const onData = (chunk: Buffer | string): void => {
      for (const key of chunk.toString()) handleKey(key)
    }
    const onEnd = (): void => handleKey(endOfInput)
    signal?.throwIfAborted()
    signal?.addEventListener('abort', onEnd)
    // Before the question: a fast answer would be echoed by the terminal.
    input.setRawMode?.(true)
    output.write(question)
    input.on('data', onData).once('end', onEnd).resume()
    try {
      return await promise
    } finally {
      signal?.removeEventListener('abort', onEnd)
      input.off('data', onData).off('end', onEnd).pause()
      input.setRawMode?.(false)
      output.write('\n')
    }
  }
  return {
    interactive: input.isTTY === true,
    ask: (question, signal) => read(question, false, signal),
    askSecret: (question, signal) => read(question, true, signal),
  }
}

/** Asks for confirmation. @throws StartupError when it is not confirmed, or there is no terminal */
export async function confirm(question: string, prompter: Prompter): Promise<void> {
  if (!prompter.interactive)
    throw new StartupError('nothing was changed: confirmation needs a terminal; use --yes')
  const answer = await prompter.ask(`${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw new StartupError('nothing was changed')
}

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
 * @param maxBytes maximum length
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
