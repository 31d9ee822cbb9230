import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** What a service process tells its parent. */
export interface ServiceReady {
  readonly type: 'ready'
  readonly url: string
  readonly kmip?: { readonly host: string; readonly port: number }
  readonly notices: readonly string[]
}

/** It answers 503 until its database is there. */
export interface ServiceWaits {
  readonly type: 'waiting'
}

export interface ServiceChild {
  readonly name: string
  /** Resolves when it answers on its port: it serves, or it waits for its database and says so. */
  readonly answers: Promise<void>
  /** Resolves when it serves; rejects when it ended before that (it has said why on standard error). */
  readonly ready: Promise<ServiceReady>
  readonly exited: Promise<number>
  signal(signal: NodeJS.Signals): void
}

const entry = fileURLToPath(new URL('../bin/warder.mjs', import.meta.url))

/** Runs `warder auth` or `warder kms` as a process of its own. */
export function startChild(
  name: 'auth' | 'kms',
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): ServiceChild {
  const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const
  const child: ChildProcess = fork(entry, [name, '--supervised', ...args], {
    env,
    stdio: [...stdio],
    // The kms collects garbage once after a burst of large data (ADR 28).
    execArgv: [...process.execArgv, '--expose-gc'],
  })
  const exited = new Promise<number>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? (signal === null ? 1 : 128)))
    // One that could not be started at all has no exit.
    child.on('error', () => {
      if (child.pid === undefined) resolve(1)
    })
  })
  const ready = new Promise<ServiceReady>((resolve, reject) => {
    child.on('message', (message: ServiceReady | ServiceWaits) => {
      if (message.type === 'ready') resolve(message)
    })
    child.once('error', reject)
    exited.then((code) => reject(new Error(`warder ${name} ended with code ${code} before it served`)))
  })
  ready.catch(() => undefined)
  const answers = new Promise<void>((resolve) => {
    child.on('message', () => resolve())
    exited.then(() => resolve())
  })
  return { name, ready, answers, exited, signal: (signal) => void child.kill(signal) }
}
