import { spawn, spawnSync } from 'node:child_process'

export interface Ran {
  readonly code: number | null
  readonly out: Buffer
  readonly err: string
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly input?: Uint8Array
  /** Ends the input when this many bytes have come out; absent: at once. */
  readonly until?: (out: Buffer) => boolean
  /** Default: a minute. */
  readonly timeoutMs?: number
}

const maxMs = 60_000

/** Runs a program to its end, at most `timeoutMs`. */
export function runProgram(command: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args], {
      env: { ...process.env, ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: options.timeoutMs ?? maxMs,
    })
    const out: Buffer[] = []
    const err: Buffer[] = []
    child.stdout.on('data', (part: Buffer) => {
      out.push(part)
      if (options.until?.(Buffer.concat(out)) === true) child.stdin.end()
    })
    child.stderr.on('data', (part: Buffer) => err.push(part))
    child.once('error', reject)
    // A program that ends early does not read its input.
    child.stdin.on('error', () => undefined)
    child.stdin.write(options.input ?? new Uint8Array())
    if (options.until === undefined) child.stdin.end()
    child.once('close', (code) =>
      resolve({ code, out: Buffer.concat(out), err: Buffer.concat(err).toString('utf8') }),
    )
  })
}

/** Whether a program can be run with these words. */
export function canRun(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): boolean {
  const timeout = 5 * maxMs // a first build compiles the standard library, too
  return spawnSync(command, [...args], { env: { ...process.env, ...env }, timeout }).status === 0
}
