import type { Readable, Writable } from 'node:stream'
import { StartupError } from '@warder/foundation/errors'

/** Asks the person at the terminal, if there is one. */
export interface Prompter {
  /** false: nobody can answer; every question would wait for ever. */
  readonly interactive: boolean
  /** @param signal takes the question back: NoAnswer */
  ask(question: string, signal?: AbortSignal): Promise<string>
  /** The answer is not shown while it is typed. */
  askSecret(question: string, signal?: AbortSignal): Promise<string>
}

/** Members of a terminal's input beyond those of a stream. */
export interface TerminalInput extends Readable {
  readonly isTTY?: boolean
  setRawMode?(on: boolean): unknown
}

/** Longer lines are none that a person typed. */
const maxAnswerLength = 4096
const [interrupt, endOfInput, backspace, erase] = ['\u0003', '\u0004', '\b', '\u007f']

/** Nothing, or Ctrl-C, in place of an answer. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

/** Asks on `output` (standard error, so that standard output stays clean for programs) and reads lines of `input`. */
export function terminalPrompter(input: TerminalInput, output: Writable): Prompter {
  /** Key by key: the terminal is in raw mode, so that secrets are not echoed. */
  async function read(question: string, secret: boolean, signal?: AbortSignal): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    let line: string[] = []
    function handleKey(key: string): void {
      if (key === '\r' || key === '\n') resolve(line.join(''))
      else if (key === interrupt || key === endOfInput) reject(new NoAnswer('there was no answer'))
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
    output.write(question)
    signal?.addEventListener('abort', onEnd)
    input.setRawMode?.(true)
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

/** Asks before something is lost. @throws StartupError when it is not confirmed, or nobody can be asked */
export async function confirm(question: string, prompter: Prompter): Promise<void> {
  if (!prompter.interactive)
    throw new StartupError('nothing was changed: nobody can be asked here; say --yes')
  const answer = await prompter.ask(`${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw new StartupError('nothing was changed')
}
