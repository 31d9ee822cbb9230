import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type ClaimedPort, formatBaseUrl, openHome, takeLock } from '@warder/base'
import type { Terminal } from '@warder/command-line'
import { type Endpoints, removeEndpoints, writeEndpoints } from '@warder/command-line/endpoints'
import { writeFirstConfiguration } from '../installation/first-run.ts'
import { requireOpenFiles } from '../installation/open-files.ts'
import { readFirstPassword, writeServiceLine } from '../service/service-line.ts'
import { leaveParentProcess, watchStopSignals, whenParentProcessEnds } from '../service/stop-signals.ts'
import { type ServiceChild, type ServiceReady, startChild } from './child.ts'
import { formatConsoleLines, formatFirstLines, formatTryCommand } from './first-lines.ts'
import { claimPorts } from './listen-addresses.ts'
import { openSettingsReader, type SettingsReader } from './settings-reader.ts'

const firstWaitMs = 1_000
const maxWaitMs = 30_000
/** A service that has served for so long is healthy, and its failures are counted from zero. */
const healthyAfterMs = 60_000

/** Backoff before a restart of a service: none at first, then 1, 2, 4 … 30 seconds. */
export class RestartBackoff {
  #ends = 0
  #servingSince: number | undefined

  /** @param now monotonic milliseconds, here and below */
  served(now: number): void {
    this.#servingSince = now
  }

  get serving(): boolean {
    return this.#servingSince !== undefined
  }

  /** @returns milliseconds to wait */
  ended(now: number): number {
    if (this.#servingSince !== undefined && now - this.#servingSince >= healthyAfterMs) this.#ends = 0
    this.#servingSince = undefined
    this.#ends += 1
    return this.#ends === 1 ? 0 : Math.min(firstWaitMs * 2 ** (this.#ends - 2), maxWaitMs)
  }
}

const parentPollMs = 250

/**
 * `npm start` runs a shell between itself and this process, and a signal to npm ends only that shell. So under npm this
 * process watches its parent and treats its end as SIGTERM.
 */
function whenParentEnds(env: Terminal['env'], stop: () => void): () => void {
  if (env.npm_lifecycle_event === undefined) return () => undefined
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    stop()
  }, parentPollMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** Polling interval for a stop during the backoff before a restart. */
const stopPollMs = 200

interface Supervised {
  readonly name: 'auth' | 'kms'
  readonly args: readonly string[]
  readonly flags: readonly string[]
  readonly env: NodeJS.ProcessEnv
  child: ServiceChild
  readonly backoff: RestartBackoff
}

export interface StartOptions {
  /** Applies to the first start of each service, not to restarts. */
  readonly acceptRollback?: boolean
}

/**
 * Runs both services as child processes, and restarts a service that ends unexpectedly. Resolves with the exit code when
 * both have stopped.
 * @throws StartupError when the services already run in this home
 */
export async function startBoth(
  path: string,
  terminal: Terminal,
  options: StartOptions = {},
): Promise<number> {
  requireOpenFiles()
  const home = openHome(path)
  // Locks first, so that running services of this home and their endpoints.json are not touched.
  const release = takeLock(
    join(home, 'start.lock'),
    (pid) => `${home} is in use by process ${pid}: the services are probably already running`,
  )
  removeEndpoints(home)
  let stopping = false
  const running: Supervised[] = []
  const stop = (reason: string): void => {
    if (stopping) return
    stopping = true
    writeServiceLine(terminal, 'warn', `${reason}: stopping after the requests in flight`)
    for (const { child } of running) child.signal('SIGTERM')
  }
  const stopAtOnce = (): void => {
    for (const { child } of running) child.signal('SIGKILL')
    removeEndpoints(home)
    release()
    process.exit(1)
  }
  const reload = (): void => {
    for (const { child } of running) child.signal('SIGHUP')
  }
  const stopWithParent = (): void => stop('the process that started this one has ended')
  const endings = [
    whenParentEnds(terminal.env, stopWithParent),
    whenParentProcessEnds(stopWithParent),
    watchStopSignals(stop, stopAtOnce),
  ]
  process.on('SIGHUP', reload)
  writeFirstConfiguration(home)
  const settings = openSettingsReader({ home, env: { ...terminal.env }, tell: terminal.err })
  try {
    const [auth, kms] = await beginBoth(home, settings, terminal, options, running, () => stopping)
    const { endpoints, browserUrl } = await findEndpoints(settings, auth, kms)
    await settings.close()
    writeEndpoints(home, endpoints)
    const console = formatConsoleLines(home, endpoints, browserUrl)
    welcome({ home, endpoints, console, notices: [...auth.notices, ...kms.notices] }, terminal)
    const codes = await Promise.all(running.map((one) => supervise(one, () => stopping, terminal)))
    return codes.every((code) => code === 0) ? 0 : 1
  } catch (error) {
    // The child has reported the reason; the other one is stopped.
    for (const { child } of running) child.signal('SIGTERM')
    await Promise.all(running.map(({ child }) => child.exited))
    if (stopping) return 0
    terminal.err(`warder start: ${error instanceof Error ? error.message : String(error)}`)
    return 1
  } finally {
    await settings.close()
    for (const end of endings) end()
    leaveParentProcess()
    removeEndpoints(home)
    release()
    process.off('SIGHUP', reload)
  }
}

/**
 * Starts both services concurrently. Ports are chosen here, so that the kms knows the address of auth, and are kept for
 * restarts.
 * @throws StartupError for an occupied port
 */
async function beginBoth(
  home: string,
  settings: SettingsReader,
  terminal: Terminal,
  { acceptRollback = false }: StartOptions,
  running: Supervised[],
  stopping: () => boolean,
): Promise<readonly [ServiceReady, ServiceReady]> {
  const addresses = await settings.places()
  const [authPort, kmsPort, socketPort] = await claimPorts(addresses)
  // A stop signal came before any child process could receive it.
  if (stopping()) throw new Error('stopped before anything was started')
  const authUrl = formatBaseUrl(addresses.plain ? 'http' : 'https', addresses.auth.host, authPort.port)
  await settings.requireReachableAuth(authUrl)
  // In the environment, because every user of the machine can read arguments.
  const env = { WARDER_PEER_SECRET: randomBytes(32).toString('base64url'), ...terminal.env }
  const begin = (
    name: 'auth' | 'kms',
    claims: readonly ClaimedPort[],
    more: readonly string[],
  ): Promise<ServiceReady> => {
    const args = ['--home', home, ...more]
    // Only for the first start; a restarted service claims its ports itself.
    const held = claims.filter((claim) => claim.held).map(({ port }) => port)
    const firstArgs = [
      ...args,
      '--migrate-together',
      ...(held.length === 0 ? [] : [`--held-ports=${held}`]),
      ...(acceptRollback ? ['--accept-rollback'] : []),
    ]
    const flags = addresses.nodeFlags[name]
    const child = startChild(name, { args: firstArgs, flags, env }, terminal)
    const one: Supervised = { name, args, flags, env, child, backoff: new RestartBackoff() }
    running.push(one)
    // Released as soon as the service responds, because requests of the kms to auth could otherwise reach the holder.
    const release = (): void => {
      for (const claim of claims) claim.release()
    }
    void child.answers.then(release, release)
    return child.ready.then((ready) => {
      one.backoff.served(performance.now())
      return ready
    })
  }
  /** Neither database is migrated before both are usable, so that an upgrade is never partial. */
  const migrateTogether = async (): Promise<void> => {
    const children = running.map(({ child }) => child)
    await Promise.all(children.map((child) => child.checked))
    for (const child of children) child.migrate()
  }
  const socketArgs = socketPort === undefined ? [] : ['--socket-server-port', String(socketPort.port)]
  const both = Promise.all([
    begin('auth', [authPort], ['--port', String(authPort.port), '--beside-kms', String(kmsPort.port)]),
    begin('kms', socketPort === undefined ? [kmsPort] : [kmsPort, socketPort], [
      '--port',
      String(kmsPort.port),
      '--beside-auth',
      authUrl,
      ...socketArgs,
    ]),
  ])
  void migrateTogether()
  const announced = announceSealed(home, settings, running)
  announced.catch(() => undefined)
  const ready = await both
  await announced
  return ready
}

/** The home also contains the addresses of sealed services, for holders of shares on this machine. */
async function announceSealed(
  home: string,
  settings: SettingsReader,
  running: readonly Supervised[],
): Promise<void> {
  const [auth, kms] = await Promise.all(running.map(({ child }) => Promise.race([child.sealed, child.ready])))
  if (auth === undefined || kms === undefined || ![auth, kms].some(({ type }) => type === 'sealed')) return
  writeEndpoints(home, (await findEndpoints(settings, auth, kms)).endpoints)
}

/** Restarts a service whenever it ends. The other service is not affected. */
async function supervise(one: Supervised, stopping: () => boolean, terminal: Terminal): Promise<number> {
  for (;;) {
    const code = await one.child.exited
    // A service that did not serve yet has no signal handler, so its exit code is ignored.
    if (stopping()) return one.backoff.serving ? code : 0
    const waitMs = one.backoff.ended(performance.now())
    const when = waitMs === 0 ? '' : ` in ${waitMs / 1000} s`
    writeServiceLine(terminal, 'error', `${one.name} ended with code ${code}; starting it again${when}`)
    const until = performance.now() + waitMs
    while (performance.now() < until && !stopping()) await setTimeout(stopPollMs)
    if (stopping()) return 0
    one.child = startChild(one.name, one, terminal)
    await one.child.ready.then(
      () => one.backoff.served(performance.now()),
      () => undefined,
    )
  }
}

async function findEndpoints(
  settings: SettingsReader,
  auth: Pick<ServiceReady, 'url'>,
  kms: Pick<ServiceReady, 'url' | 'kmip'>,
): Promise<{ readonly endpoints: Endpoints; readonly browserUrl: string | undefined }> {
  const { browserUrl, ...own } = await settings.ownTls(auth.url, kms.url)
  const endpoints = {
    auth: { url: auth.url, ...(own.auth !== undefined && { tls: own.auth }) },
    kms: { url: kms.url, ...(own.kms !== undefined && { tls: own.kms }) },
    ...(kms.kmip !== undefined && { kmip: kms.kmip }),
  }
  return { endpoints, browserUrl }
}

interface Welcome {
  readonly home: string
  readonly endpoints: Endpoints
  /** About the page for browsers. */
  readonly console: readonly string[]
  readonly notices: readonly string[]
}

function welcome({ home, endpoints, console, notices }: Welcome, terminal: Terminal): void {
  const tried = formatTryCommand(home, terminal.env.WARDER_PROGRAM)
  const lines = formatFirstLines(home, endpoints)
  const { auth, kms } = endpoints
  if (terminal.isTerminal?.out !== true) {
    const fields = {
      console,
      auth: auth.url,
      kms: kms.url,
      kmip: formatKmipAddress(endpoints),
      home,
      notices,
      try: tried,
      lines,
    }
    writeServiceLine(terminal, 'info', 'Warder is running.', fields)
    return
  }
  const kmip = formatKmipAddress(endpoints)
  const text = [
    '',
    'Warder is running.',
    ...console,
    '',
    `auth ${auth.url}   kms ${kms.url}${kmip === undefined ? '' : `   kmip ${kmip}`}`,
    `Home: ${home}`,
    ...notices,
    ...readFirstPassword(home, notices),
    '',
    `Try it: \`${tried}\`, or paste these three lines (log in, create a key, encrypt):`,
    '',
    ...lines,
    '',
  ]
  // A single write, so that a reader of a pipe gets it in one piece.
  terminal.out(text.join('\n'))
}

function formatKmipAddress({ kmip }: Endpoints): string | undefined {
  return kmip === undefined ? undefined : `${kmip.host}:${kmip.port}`
}
