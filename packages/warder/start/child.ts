import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { watchBeats } from '@warder/foundation/supervision'
import type { Terminal } from '../cli/command.ts'
import { writeServiceLine } from '../cli/service-line.ts'
import { forwardLines } from './forward-lines.ts'

/** Message of a service process to its parent. */
export interface ServiceReady {
  readonly type: 'ready'
  readonly url: string
  readonly kmip?: { readonly host: string; readonly port: number }
  readonly notices: readonly string[]
  /** It is killed when it does not tell of itself for so long; 0 = never. */
  readonly aliveWithinMs: number
}

/** Its event loop answers. */
interface ServiceAlive {
  readonly type: 'alive'
}

/** Its database is one that it can use, and was not changed; with `pending` it waits for a `migrate`. */
export interface ServiceChecked {
  readonly type: 'checked'
  readonly pending: boolean
}

/** The parent's answer when all services were checked. */
export interface MayMigrate {
  readonly type: 'migrate'
}

/** It answers 503 until its database is there. */
export interface ServiceWaits {
  readonly type: 'waiting'
}

type FromService = ServiceReady | ServiceWaits | ServiceAlive | ServiceChecked

export interface ServiceChild {
  readonly name: string
  /** Resolves when it answers on its port: it serves, or it waits for its database and says so. */
  readonly answers: Promise<void>
  /** Resolves when its database was checked; never when it ended before. */
  readonly checked: Promise<void>
  /** It may change its database. */
  migrate(): void
  /** Resolves when it serves; rejects when it ended before that (it has said why on standard error). */
  readonly ready: Promise<ServiceReady>
  readonly exited: Promise<number>
  signal(signal: NodeJS.Signals): void
}

const entry = fileURLToPath(new URL('../bin/warder.mjs', import.meta.url))

/** After a process has ended its last lines are waited for. */
const lastLinesWithinMs = 1000

/**
 * Runs `warder auth` or `warder kms` as a process of its own. One that serves and then does not answer is killed, and the
 * terminal is told. What it writes comes through this process.
 */
export function startChild(
  name: 'auth' | 'kms',
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  terminal: Terminal,
): ServiceChild {
  const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] as const
  const child: ChildProcess = fork(entry, [name, '--supervised', ...args], {
    env,
    stdio: [...stdio],
    // The kms collects garbage once after a burst of large data (docs/adr/node-performance.md). No debugger, from the
    // first moment on.
    execArgv: [...process.execArgv, '--expose-gc', '--disable-sigusr1'],
  })
  forwardLines(child.stdout, terminal.out)
  forwardLines(child.stderr, terminal.err)
  let beats = 0
  let unwatch = (): void => undefined
  const watch = (limitMs: number): void => {
    if (limitMs === 0) return
    const onStalled = (): void => {
      writeServiceLine(terminal, 'error', `${name} has not answered for ${limitMs / 1000} s: it is killed`)
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
    // One that could not be started at all has no exit.
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
  const checked = new Promise<void>((resolve) => {
    child.on('message', ({ type }: FromService) => type === 'checked' && resolve())
  })
  return {
    name,
    ready,
    answers,
    checked,
    exited,
    migrate() {
      if (child.connected) child.send({ type: 'migrate' } satisfies MayMigrate, () => undefined)
    },
    signal: (signal) => void child.kill(signal),
  }
}
