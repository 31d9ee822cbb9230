import { spawn } from 'node:child_process'

export interface Started {
  /** Output so far. */
  output(): string
  /** Stops it in order. @returns its exit code */
  stop(): Promise<number | null>
}

/**
 * Runs `warder start` as it is installed, until it serves.
 * @param command the program
 * @param words before `start`, if another program runs the command
 * @throws Error with its output, if it ended before
 */
export async function startInstalled(
  command: string,
  words: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<Started> {
  const child = spawn(command, [...words, 'start'], options)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  let output = ''
  await new Promise<void>((resolve, reject) => {
    const collect = (text: Buffer): void => {
      output += text.toString()
      if (output.includes('Warder is running.')) resolve()
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    child.once('error', reject)
    ended.then(() => reject(new Error(`Warder did not start:\n${output}`)))
  })
  return {
    output: () => output,
    stop: () => {
      child.kill('SIGTERM')
      return ended
    },
  }
}
