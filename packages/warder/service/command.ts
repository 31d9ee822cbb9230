import { getFips } from 'node:crypto'
import { once } from 'node:events'
import { url as debuggerUrl } from 'node:inspector'
import { openHome, StartupError } from '@warder/base'
import {
  type Command,
  homeOption,
  optionsHelp,
  readKnownOptions,
  selectHome,
  type Terminal,
} from '@warder/command-line'
import type { ServiceName } from '@warder/command-line/endpoints'
import { checkSettings, type RunningService, runService, type SealedEndpoints } from '@warder/runtime/launch'
import { formatSettingsHelp } from '@warder/runtime/settings'
import { configure, readNodeFlags, type ServiceConfiguration } from '../installation/configuration.ts'
import { writeFirstConfiguration } from '../installation/first-run.ts'
import { requireOpenFiles } from '../installation/open-files.ts'
import { getSettings } from '../installation/services.ts'
import { configureBesideAuth, configureBesideKms, readPeerSecret } from '../installation/together.ts'
import { readFirstPassword, writeServiceLine } from './service-line.ts'
import { leaveParentProcess, watchStopSignals, whenParentProcessEnds } from './stop-signals.ts'

const options = {
  home: homeOption,
  'accept-rollback': {
    type: 'flag',
    help: 'starts with a database that is missing, or older than its audit log; the audit log records it',
  },
  'check-config': { type: 'flag', help: 'checks the settings and exits' },
  'print-default-config': { type: 'flag', help: 'prints every setting with its default, as a file to edit' },
  'beside-auth': { type: 'text' },
  'beside-kms': { type: 'text' },
  'held-ports': { type: 'text' },
  'migrate-together': { type: 'flag' },
  supervised: { type: 'flag' },
} as const

export const auth = serviceCommand('auth', 'the authentication service')
export const kms = serviceCommand('kms', 'the key management service')

function serviceCommand(name: ServiceName, what: string): Command {
  return {
    name,
    summary: `Start ${what}`,
    options,
    get help() {
      return `warder ${name} [--home DIR] [SETTINGS]

Starts ${what}.

SIGTERM or SIGINT stops it gracefully, a second one at once; SIGHUP reloads the certificates.

${optionsHelp(options)}

Settings (flag, then environment, then HOME/${name}.toml, then the default):

${formatSettingsHelp(name, getSettings(name))}

Example:
  warder ${name} --home /var/lib/warder --workers 4`
    },
    async run(args, terminal) {
      const { values, rest } = readKnownOptions(args, options)
      const { supervised, 'beside-auth': beside } = values
      if (values['print-default-config']) {
        const { formatDefaultToml } = await import('@warder/runtime/settings')
        terminal.out(formatDefaultToml(name, getSettings(name)))
        return 0
      }
      requireOpenFiles()
      const folder = openHome(selectHome(values.home, terminal.env))
      writeFirstConfiguration(folder)
      const configuration = adaptConfiguration(
        name,
        configure(name, folder, rest, terminal.env),
        terminal.env,
        values,
      )
      const { launch, loaded } = configuration
      const peerSecret = readPeerSecret(terminal.env, configuration, beside !== undefined)
      for (const warning of [...loaded.warnings, ...warnOfDebugger()])
        writeServiceLine(terminal, 'warn', `warder ${name}: warning: ${warning}`)
      if (values['check-config']) {
        for (const warning of await checkSettings(launch)) terminal.err(`warder ${name}: warning: ${warning}`)
        terminal.out(`the configuration of ${name} in ${folder} is valid`)
        return 0
      }
      const flags = supervised ? [] : await readNodeFlags(configuration)
      if (flags.length > 0 && getFips() !== 1) replaceProcess(flags)
      const onWaiting = (): void => {
        if (supervised) process.send?.({ type: 'waiting' })
      }
      const onSealed = ({ url, socket }: SealedEndpoints): void => {
        if (supervised) process.send?.({ type: 'sealed', url, ...(socket !== undefined && { kmip: socket }) })
      }
      const heldPorts = values['held-ports']?.split(',').map(Number) ?? []
      // Nothing is in flight during the start, so the process may exit at once; the next start continues.
      const unwatch = whenParentProcessEnds(() => process.exit(1))
      // The default action of the signal would end a service that waits for its database or for shares. The files were
      // just read.
      const ignoreReload = (): void => undefined
      process.on('SIGHUP', ignoreReload)
      let service: RunningService
      try {
        service = await runService({
          ...launch,
          heldPorts,
          peerSecret,
          onWaiting,
          onSealed,
          ...(supervised && values['migrate-together'] && { beforeMigrating: awaitOtherService }),
          acceptRollback: values['accept-rollback'],
        })
      } finally {
        process.off('SIGHUP', ignoreReload)
        // A watched channel would keep the process alive after a refused start.
        unwatch()
      }
      return serve(service, { home: folder, supervised }, terminal.forService?.() ?? terminal)
    },
  }
}

/** Starts this command again in the same process, on Node with these flags. @throws StartupError on Windows */
function replaceProcess(flags: readonly string[]): never {
  if (process.execve === undefined)
    throw new StartupError('fips_provider_path is not supported here: start both services with warder start')
  const words = [process.execPath, ...process.execArgv, ...flags, ...process.argv.slice(1)]
  return process.execve(process.execPath, words, { ...process.env })
}

/** Applies the defaults of a joint start to a service that was started together with the other one. */
function adaptConfiguration(
  name: ServiceName,
  configuration: ServiceConfiguration,
  env: Terminal['env'],
  { 'beside-auth': authUrl, 'beside-kms': kmsPort }: ServiceArguments,
): ServiceConfiguration {
  const other = (service: ServiceName) => configure(service, configuration.launch.home, [], env)
  if (name === 'auth')
    return kmsPort === undefined
      ? configuration
      : configureBesideKms(configuration, other('kms'), Number(kmsPort))
  if (authUrl === undefined) return configuration
  return configureBesideAuth(configuration, authUrl, other('auth'))
}

interface ServiceArguments {
  readonly 'beside-auth'?: string | undefined
  readonly 'beside-kms'?: string | undefined
}

function warnOfDebugger(): readonly string[] {
  return debuggerUrl() === undefined
    ? []
    : ['a debugger can be attached (--inspect): every user of this machine can read keys with it']
}

/** If this service has pending migrations, waits until the database of the other service was checked as well. */
async function awaitOtherService(pending: boolean): Promise<void> {
  const told = pending ? once(process, 'message') : undefined
  process.send?.({ type: 'checked', pending })
  await told
}

/** Interval of the heartbeats of a supervised service. */
const aliveEveryMs = 1000

/** Sends heartbeats to the supervisor; skips one while the previous one is still queued. */
function sendHeartbeats(): () => void {
  let told = true
  const timer = setInterval(() => {
    if (!told || !process.connected) return
    told = false
    process.send?.({ type: 'alive' }, () => {
      told = true
    })
  }, aliveEveryMs)
  timer.unref()
  return () => clearInterval(timer)
}

interface ServeOptions {
  readonly home: string
  readonly supervised: boolean
}

function announce(service: RunningService, { home, supervised }: ServeOptions, terminal: Terminal): void {
  const { url, notices, socket, aliveWithinMs } = service
  const kmip = socket === undefined ? {} : { kmip: { host: socket.host, port: socket.port } }
  if (supervised) process.send?.({ type: 'ready', url, notices, aliveWithinMs, ...kmip })
  else
    for (const notice of [
      ...notices,
      ...(terminal.isTerminal?.out === true ? readFirstPassword(home, notices) : []),
    ])
      writeServiceLine(terminal, 'info', notice)
}

/**
 * Runs until a signal, or until the service cannot continue. A supervised service treats every signal as a graceful
 * stop; its supervisor kills it when it must stop at once.
 */
async function serve(
  service: RunningService,
  { home, supervised }: ServeOptions,
  terminal: Terminal,
): Promise<number> {
  let stopping = false
  let unwatch: readonly (() => void)[] = []
  const stopped = new Promise<number>((resolve) => {
    const stop = (): void => {
      if (stopping) return
      stopping = true
      service.stop().then(
        () => resolve(0),
        (error: unknown) => {
          const why = error instanceof Error ? error.message : String(error)
          writeServiceLine(terminal, 'error', `stopping failed: ${why}`)
          resolve(1)
        },
      )
    }
    unwatch = [watchStopSignals(stop, () => supervised || process.exit(1)), whenParentProcessEnds(stop)]
    process.on('SIGHUP', () => service.reloadTls())
    void service.failed.then(async (reason) => {
      writeServiceLine(terminal, 'error', `the service cannot continue: ${reason}`)
      await service.stop().catch(() => undefined)
      resolve(1)
    })
  })
  // Announced last: a reader of the announcement may send a stop signal at once, and the handlers are now installed.
  announce(service, { home, supervised }, terminal)
  const quiet = supervised ? sendHeartbeats() : undefined
  const code = await stopped
  quiet?.()
  for (const end of unwatch) end()
  leaveParentProcess()
  return code
}
