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
  return {
    out: (line) => process.stdout.write(`${line}\n`),
    err: (line) => process.stderr.write(`${line}\n`),
    env: process.env,
    isGone: () => gone,
  }
}
