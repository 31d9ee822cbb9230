import { type ChildProcess, fork } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { watchBeats } from '@warder/base'
import type { Terminal } from '@warder/command-line'
import { writeServiceLine } from '../service/service-line.ts'

/** Message of a service process to its parent. */
export interface ServiceReady {
  readonly type: 'ready'
  readonly url: string
  readonly kmip?: { readonly host: string; readonly port: number }
  readonly notices: readonly string[]
  /** Without a heartbeat for so long it is killed; 0 = never. */
  readonly aliveWithinMs: number
}

/** Heartbeat: the event loop responds. */
interface ServiceAlive {
  readonly type: 'alive'
}

/** The database is usable and was not changed; with `pending` the service waits for `migrate`. */
export interface ServiceChecked {
  readonly type: 'checked'
  readonly pending: boolean
}

/** Reply of the parent when the databases of all services are checked. */
export interface MayMigrate {
  readonly type: 'migrate'
}

/** The service responds with 503 until its database is available. */
export interface ServiceWaits {
  readonly type: 'waiting'
}

/** The service responds with 503 until holders have entered shares of its root key. */
export interface ServiceSealed extends Pick<ServiceReady, 'url' | 'kmip'> {
  readonly type: 'sealed'
}

type FromService = ServiceReady | ServiceWaits | ServiceSealed | ServiceAlive | ServiceChecked

export interface ServiceChild {
  readonly name: string
  /** Resolves when it responds on its port: it serves, or waits for its database. */
  readonly answers: Promise<void>
  /** Resolves when it is sealed; never if it is not. */
  readonly sealed: Promise<ServiceSealed>
  /** Resolves when its database is checked; never if it ended before. */
  readonly checked: Promise<void>
  /** Permits the service to migrate its database. */
  migrate(): void
  /** Resolves when it serves; rejects when it ended before (with the reason on its standard error). */
  readonly ready: Promise<ServiceReady>
  readonly exited: Promise<number>
  signal(signal: NodeJS.Signals): void
}

const entry = fileURLToPath(new URL('../bin/warder.mjs', import.meta.url))

/** Time limit for the last lines of an ended process. */
const lastLinesWithinMs = 1000

interface ChildOptions {
  readonly args: readonly string[]
  /** Of Node. */
  readonly flags: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

/**
 * Runs `warder auth` or `warder kms` as a child process, and forwards its output. A service without heartbeats is killed,
 * which is reported on the terminal.
 */
export function startChild(
  name: 'auth' | 'kms',
  { args, flags, env }: ChildOptions,
  terminal: Terminal,
): ServiceChild {
  const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] as const
  const child: ChildProcess = fork(entry, [name, '--supervised', ...args], {
    env,
    stdio: [...stdio],
    // The kms collects garbage after a burst of large data (docs/adr/node-performance.md). The debugger is disabled from
    // the start.
    execArgv: [...process.execArgv, ...flags, '--expose-gc', '--disable-sigusr1'],
  })
  forwardLines(child.stdout, terminal.out)
  forwardLines(child.stderr, terminal.err)
  let beats = 0
  let unwatch = (): void => undefined
  const watch = (limitMs: number): void => {
    if (limitMs === 0) return
    const onStalled = (): void => {
      writeServiceLine(terminal, 'error', `${name} has not responded for ${limitMs / 1000} s and is killed`)
      child.kill('SIGKILL')
    }
    unwatch = watchBeats({ limitMs, beats: () => beats, onStalled })
  }
  const exited = new Promise<number>((resolve) => {
    child.once('exit', (code, signal) => {
      unwatch()
      const end = (): void => resolve(code ?? (signal === null ? 1 : 128))
      child.once('close', end)
      setTimeout(end, lastLinesWithinMs).unref()
    })
    // A process that could not be started emits no exit event.
    child.on('error', () => {
      if (child.pid === undefined) resolve(1)
    })
  })
  const ready = new Promise<ServiceReady>((resolve, reject) => {
    child.on('message', (message: FromService) => {
      if (message.type === 'ready') {
        watch(message.aliveWithinMs)
        resolve(message)
      } else if (message.type === 'alive') beats += 1
    })
    child.once('error', reject)
    exited.then((code) => reject(new Error(`warder ${name} ended with code ${code} before it served`)))
  })
  ready.catch(() => undefined)
  const answers = new Promise<void>((resolve) => {
    child.on('message', ({ type }: FromService) => type !== 'checked' && resolve())
    exited.then(() => resolve())
  })
  const sealed = new Promise<ServiceSealed>((resolve) => {
    child.on('message', (message: FromService) => message.type === 'sealed' && resolve(message))
  })
  const checked = new Promise<void>((resolve) => {
    child.on('message', ({ type }: FromService) => type === 'checked' && resolve())
  })
  return {
    name,
    ready,
    answers,
    sealed,
    checked,
    exited,
    migrate() {
      if (child.connected) child.send({ type: 'migrate' } satisfies MayMigrate, () => undefined)
    },
    signal: (signal) => void child.kill(signal),
  }
}

/**
 * Forwards the output of another process, line by line. The process has its own pipe instead of the output of this one,
 * because blocking mode is a property of the open file, which processes would share.
 */
export function forwardLines(from: Readable | null, write: (line: string) => void): void {
  if (from !== null) createInterface({ input: from }).on('line', write)
}
