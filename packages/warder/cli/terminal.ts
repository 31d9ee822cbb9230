import { Output, standardSink } from '@warder/foundation/supervision'
import { allowColour } from './colour.ts'
import type { Terminal } from './command.ts'

/** The terminal of this process, or what stands for it: a pipe, a file. To be made once. @param plain without colours */
export function realTerminal(plain = false): Terminal {
  const env = plain ? { ...process.env, NO_COLOR: '1' } : process.env
  allowColour(env, { out: process.stdout, err: process.stderr })
  let gone = false
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    const isFirst = !gone
    gone = true
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
    isTerminal: readByPerson(),
    isGone: () => gone,
    ofService: serviceTerminal,
  }
}

/** Its lines never stop a process that serves others, and a reader that has ended is no reason to end. */
function serviceTerminal(): Terminal {
  const lostLine = (lines: number): string => `warder: ${lines} lines were lost: nobody read them in time\n`
  const [out, err] = [new Output(standardSink(1), { lostLine }), new Output(standardSink(2), { lostLine })]
  return {
    out: (line) => out.write(`${line}\n`),
    err: (line) => err.write(`${line}\n`),
    env: process.env,
    isTerminal: readByPerson(),
  }
}

function readByPerson(): { readonly out: boolean; readonly err: boolean } {
  return { out: process.stdout.isTTY === true, err: process.stderr.isTTY === true }
}
