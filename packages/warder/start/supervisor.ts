import { openHome } from '@warder/foundation/runtime'
import type { Terminal } from '../command/command.ts'
import { type ServiceChild, type ServiceReady, startChild } from './child.ts'
import { type Endpoints, removeEndpoints, writeEndpoints } from './endpoints.ts'
import { firstLines } from './first-lines.ts'

/** A service that ends this often within a minute is not started again. */
const mostRestartsPerMinute = 5

interface Supervised {
  readonly name: 'auth' | 'kms'
  args: readonly string[]
  child: ServiceChild
  restarts: number[]
}

/**
 * Runs both services as processes of their own, auth first (the kms asks it for its public keys), and starts one
 * again that ends by itself. Resolves with the exit code when both have stopped.
 */
export async function startBoth(path: string, terminal: Terminal): Promise<number> {
  const home = openHome(path)
  removeEndpoints(home)
  let stopping = false
  const running: Supervised[] = []
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) {
      for (const { child } of running) child.signal('SIGKILL')
      removeEndpoints(home)
      process.exit(1)
    }
    stopping = true
    terminal.err(`${signal}: stopping; what is in flight is finished first`)
    for (const { child } of running) child.signal('SIGTERM')
  }
  const reload = (): void => {
    for (const { child } of running) child.signal('SIGHUP')
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.on('SIGHUP', reload)
  try {
    const auth = await begin('auth', ['--home', home], running)
    const kms = await begin('kms', ['--home', home, '--beside-auth', auth.url], running)
    const endpoints: Endpoints = {
      auth: { url: auth.url },
      kms: { url: kms.url },
      ...(kms.kmip === undefined ? {} : { kmip: kms.kmip }),
    }
    writeEndpoints(home, endpoints)
    welcome(home, endpoints, [...auth.notices, ...kms.notices], terminal)
    const giveUp = (): void => {
      stopping = true
      for (const { child } of running) child.signal('SIGTERM')
    }
    const codes = await Promise.all(running.map((one) => supervise(one, () => stopping, giveUp, terminal)))
    return codes.every((code) => code === 0) ? 0 : 1
  } catch (error) {
    // The child has said why; what was started with it is stopped.
    for (const { child } of running) child.signal('SIGTERM')
    await Promise.all(running.map(({ child }) => child.exited))
    if (stopping) return 0
    terminal.err(`warder start: ${error instanceof Error ? error.message : String(error)}`)
    return 1
  } finally {
    removeEndpoints(home)
    process.off('SIGTERM', stop)
    process.off('SIGINT', stop)
    process.off('SIGHUP', reload)
  }
}

async function begin(
  name: 'auth' | 'kms',
  args: readonly string[],
  running: Supervised[],
): Promise<ServiceReady> {
  const child = startChild(name, args)
  const one: Supervised = { name, args, child, restarts: [] }
  running.push(one)
  const ready = await child.ready
  // Started again, it must be found where it was: the port chosen for 0 is kept.
  one.args = [...args, '--port', new URL(ready.url).port]
  return ready
}

async function supervise(
  one: Supervised,
  stopping: () => boolean,
  giveUp: () => void,
  terminal: Terminal,
): Promise<number> {
  for (;;) {
    const code = await one.child.exited
    if (stopping()) return code
    const now = performance.now()
    one.restarts = [...one.restarts.filter((at) => now - at < 60_000), now]
    if (one.restarts.length > mostRestartsPerMinute) {
      terminal.err(`${one.name} ended ${one.restarts.length} times within a minute; giving up`)
      giveUp()
      return 1
    }
    terminal.err(`${one.name} ended with code ${code}; starting it again`)
    one.child = startChild(one.name, one.args)
    await one.child.ready.catch(() => undefined)
  }
}

function welcome(home: string, endpoints: Endpoints, notices: readonly string[], terminal: Terminal): void {
  const lines = [
    '',
    `Warder is running.   auth ${endpoints.auth.url}   kms ${endpoints.kms.url}`,
    `Home: ${home}`,
    ...notices,
    '',
    'Try it: `npx warder try`, or paste these three lines (log in, make a key, encrypt):',
    '',
    ...firstLines(home, endpoints),
    '',
  ]
  for (const line of lines) terminal.out(line)
}
