import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { inHome, StartupError } from '@warder/base'
import {
  type Command,
  homeOption,
  openUserTerminal,
  optionsHelp,
  optionsUsage,
  readArguments,
  selectHome,
  toExitCode,
  UsageError,
} from '@warder/command-line'
import { serviceNames } from '@warder/command-line/endpoints'
import { readSecretFile, toFileRefused } from '@warder/command-line/files'
import { rootKeySource, writeNote } from '@warder/runtime/launch'
import { toEnvName } from '@warder/runtime/settings'
import { readUnlock, unlockOptions } from '../backup/secrets.ts'
import { requireSender, senderOptions } from '../backup/sender.ts'
import { configure } from '../installation/configuration.ts'
import { getSettings } from '../installation/services.ts'
import { findSender } from '../installation/signing-key.ts'
import { TryFailed } from '../try/step.ts'
import { testRestore } from './drill.ts'

const options = {
  home: {
    ...homeOption,
    help: 'home of the backed-up installation, which records the drill (default WARDER_HOME, else ./.warder)',
  },
  ...unlockOptions,
  ...senderOptions,
  'root-key-file': {
    type: 'text',
    value: 'FILE',
    help: 'copy of the root key (default: that of the home)',
  },
  realm: { type: 'text', value: 'R', help: 'realm of --user (default _)' },
  user: { type: 'text', value: 'U', help: 'user who logs in and uses keys' },
  'password-file': { type: 'text', value: 'FILE', help: 'the password of --user' },
  keys: { type: 'number', value: 'N', help: 'maximum number of keys to decrypt (default 10000)' },
} as const

const defaultMaxKeys = 10_000

export const drillCommand: Command = {
  name: 'drill',
  summary: 'Test a backup by restoring it into a temporary home',
  help: `warder drill FILE|FOLDER ${optionsUsage(options)}

Restores the backup (in a folder: the newest *.backup) into a temporary home with SQLite databases, decrypts its keys,
starts both services on free ports, checks their health, logs in --user and uses keys, stops the services, and verifies
the audit chain. The running installation is not touched; it records the time of the last successful drill, which
/metrics shows. A backup that this installation has not signed needs --from. Settings of the backup that name an address,
or a file outside that home, are ignored. A server that wraps the root key is contacted with the settings of --home.

${optionsHelp(options)}

Example:
  warder drill /backup --passphrase-file /etc/warder/backup-passphrase`,
  async run(args, terminal) {
    const { values, names } = readArguments(args, options)
    const [path, ...rest] = names
    if (path === undefined || rest.length > 0)
      throw new UsageError('name one backup, or a folder with backups')
    const unlock = readUnlock(values['passphrase-file'], values.key, terminal.env)
    const home = resolve(selectHome(values.home, terminal.env))
    const { user, realm = '_' } = values
    const passwordFile = values['password-file']
    if ((user === undefined) !== (passwordFile === undefined))
      throw new UsageError('--user and --password-file must be given together')
    const login =
      user === undefined || passwordFile === undefined
        ? undefined
        : { realm, user, password: readSecretFile(passwordFile) }
    const sender = requireSender(
      {
        from: values.from,
        acceptNew: values['accept-new-sender'],
        acceptUnsigned: values['accept-unsigned'],
      },
      { env: terminal.env, prompter: openUserTerminal().prompter, own: findSender(home), say: terminal.out },
    )
    const interruption = new AbortController()
    let stoppedBy: NodeJS.Signals | undefined
    const unlisten = openUserTerminal().onInterrupt((signal) => {
      stoppedBy = signal
      interruption.abort()
    })
    try {
      const backup = findNewestBackup(path)
      terminal.out(`backup      ${backup}`)
      await testRestore({
        backup,
        unlock,
        requireSender: sender,
        rootKeyFile: values['root-key-file'] ?? findRootKeyFile(home, terminal.env),
        ownSettings: readOwnSettings(home, terminal.env),
        env: terminal.env,
        login,
        keys: values.keys ?? defaultMaxKeys,
        signal: interruption.signal,
        say: terminal.out,
      })
      const unnoted = existsSync(home) ? writeNote(home, 'drill', Date.now()) : undefined
      if (unnoted !== undefined) terminal.err(unnoted)
      terminal.out('the drill was successful')
      return 0
    } catch (error) {
      if (stoppedBy !== undefined) {
        terminal.err(`interrupted (${stoppedBy}): the temporary files are removed`)
        return toExitCode(stoppedBy)
      }
      if (!(error instanceof TryFailed)) throw toFileRefused(error)
      terminal.err(`warder drill: ${error.message}`)
      return 1
    } finally {
      unlisten()
    }
  },
}

/** @throws StartupError when there is none */
function findNewestBackup(path: string): string {
  if (!existsSync(path)) throw new StartupError(`${path} does not exist`)
  if (!statSync(path).isDirectory()) return path
  const found = readdirSync(path)
    .filter((name) => name.endsWith('.backup'))
    .map((name) => join(path, name))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)
  const [first] = found
  if (first === undefined) throw new StartupError(`${path} contains no file *.backup`)
  return first
}

const ownSettings = /^(?:root_key_\w+\.|outbound_|fips(?:_provider_(?:path|config))?$)/
const pathSettings = /(?:_file|\.library|^fips_provider_path|^fips_provider_config)$/

function findRootKeyFile(
  home: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (!existsSync(home)) return undefined
  const source = rootKeySource(configure('kms', home, [], env).launch)
  return source.kind === 'file' ? source.path : undefined
}

/**
 * The settings with which this installation reaches the source of the root key, and those of its FIPS provider, as
 * environment variables: a backup must not choose the server that receives a credential of this machine, nor a library that
 * is loaded here.
 */
function readOwnSettings(
  home: string,
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const variables: Record<string, string> = {}
  for (const service of serviceNames) {
    const table = getSettings(service)
    for (const [key, value] of Object.entries(configure(service, home, [], env).loaded.values)) {
      const setting = table[key]
      if (setting === undefined || value === undefined || !ownSettings.test(key)) continue
      const text = String(value)
      variables[toEnvName(service, key, setting)] = pathSettings.test(key) ? inHome(home, text) : text
    }
    // If this installation has no proxy, the backup must not set one.
    const proxy = `${service.toUpperCase()}_OUTBOUND_PROXY`
    variables[proxy] ??= env.https_proxy ?? env.HTTPS_PROXY ?? 'direct'
  }
  return variables
}
