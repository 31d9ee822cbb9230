import { Output, standardSink } from '@warder/base'
import { allowColour } from './colour.ts'
import { detectWidth } from './width.ts'

/** The environment of a command, which tests can replace. */
export interface Terminal {
  out(line: string): void
  err(line: string): void
  readonly env: Readonly<Record<string, string | undefined>>
  /** Which streams are terminals; undefined: neither. */
  readonly isTerminal?: { readonly out: boolean; readonly err: boolean }
  /** The reader has closed the output: a command that prints without end may stop. */
  isGone?(): boolean
  /** A terminal for a service process, which continues even if its output is not read. */
  forService?(): Terminal
}

/** The standard streams of this process: a terminal, a pipe or a file. Create it once. @param plain without colours */
export function createTerminal(plain = false): Terminal {
  const env = plain ? { ...process.env, NO_COLOR: '1' } : process.env
  allowColour(env, { out: process.stdout, err: process.stderr })
  detectWidth(env, process.stdout)
  let isClosed = false
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    const isFirst = !isClosed
    isClosed = true
    // `warder keys list | head -1`: a reader may close the pipe early, which is not an error.
    if (error.code === 'EPIPE' || !isFirst) return
    process.stderr.write(`warder: the output cannot be written: ${error.message}\n`)
    process.exitCode = 1
  })
  process.stderr.on('error', () => {
    // There is no other stream to report this on.
  })
  return {
    out: (line) => process.stdout.write(`${line}\n`),
    err: (line) => process.stderr.write(`${line}\n`),
    env: process.env,
    isTerminal: detectTerminals(),
    isGone: () => isClosed,
    forService: createServiceTerminal,
  }
}

/** A terminal for a service process: output never blocks it, and it survives the end of its reader. */
function createServiceTerminal(): Terminal {
  const formatLostLines = (lines: number): string =>
    `warder: ${lines} lines were dropped: the output was not read in time\n`
  const [out, err] = [
    new Output(standardSink(1), { formatLostLine: formatLostLines }),
    new Output(standardSink(2), { formatLostLine: formatLostLines }),
  ]
  return {
    out: (line) => out.write(`${line}\n`),
    err: (line) => err.write(`${line}\n`),
    env: process.env,
    isTerminal: detectTerminals(),
  }
}

function detectTerminals(): { readonly out: boolean; readonly err: boolean } {
  return { out: process.stdout.isTTY === true, err: process.stderr.isTTY === true }
}
