import { Output, standardSink } from '@warder/foundation/supervision'
import { allowColour } from './colour.ts'
import type { Terminal } from './command.ts'

/** The terminal of this process, or what stands for it: a pipe, a file. To be made once. @param plain without colours */
export function createTerminal(plain = false): Terminal {
  const env = plain ? { ...process.env, NO_COLOR: '1' } : process.env
  allowColour(env, { out: process.stdout, err: process.stderr })
  let isClosed = false
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    const isFirst = !isClosed
    isClosed = true
    // `warder keys list | head -1`: who has read enough closes the pipe, which is no failure.
    if (error.code === 'EPIPE' || !isFirst) return
    process.stderr.write(`warder: the output was not taken: ${error.message}\n`)
    process.exitCode = 1
  })
  process.stderr.on('error', () => {
    // There is nobody to be told.
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

/** Its lines never stop a process that serves others, and a reader that has ended is no reason to end. */
function createServiceTerminal(): Terminal {
  const formatLostLines = (lines: number): string =>
    `warder: ${lines} lines were lost: nobody read them in time\n`
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
