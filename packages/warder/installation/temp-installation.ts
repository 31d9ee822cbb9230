import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { StartupError } from '@warder/base'

const startWithinMs = 60_000
const pollMs = 50
const maxOutputLength = 20_000
const entry = fileURLToPath(new URL('../bin/warder.mjs', import.meta.url))

/** Overrides of the settings: only loopback addresses and free ports. */
const localEndpoints = {
  AUTH_HOST: '127.0.0.1',
  AUTH_PORT: '0',
  KMS_HOST: '127.0.0.1',
  KMS_PORT: '0',
  KMS_SOCKET_SERVER_HOSTNAME: '127.0.0.1',
  KMS_SOCKET_SERVER_PORT: '0',
}

/** Creates the environment of a temporary installation, without the settings of the caller. */
export function createTempEnvironment(env: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !/^(?:AUTH|KMS)_|^WARDER_HOME$/.test(name))
  return { ...Object.fromEntries(kept), ...localEndpoints }
}

/**
 * Starts both services in a temporary home, on free ports, and stops them after `use`.
 * @param env as `createTempEnvironment` makes it
 * @param what name of the services for the error message
 * @throws StartupError when they do not start; the reason of `signal`, when it is aborted
 */
export async function withStartedServices<T>(
  home: string,
  env: NodeJS.ProcessEnv,
  what: string,
  use: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const child = spawn(process.execPath, [entry, 'start', '--home', home], {
    env,
    // Over the IPC channel it notices the end of this process in any case, and stops.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let output = ''
  const collect = (text: Buffer): void => {
    output = (output + text.toString()).slice(-maxOutputLength)
  }
  child.stdout?.on('data', collect)
  child.stderr?.on('data', collect)
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null
  try {
    const until = performance.now() + startWithinMs
    while (!existsSync(join(home, 'endpoints.json'))) {
      signal?.throwIfAborted()
      if (!isRunning() || performance.now() > until)
        throw new StartupError(`${what} do not start:\n${output}`)
      await setTimeout(pollMs)
    }
    return await use()
  } finally {
    if (isRunning()) child.kill('SIGTERM')
    await ended
  }
}
