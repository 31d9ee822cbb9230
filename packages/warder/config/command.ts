import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { describeWriteError, StartupError } from '@warder/base'
import { homeVerb, requireNoNames, type Terminal, UsageError, verbCommand } from '@warder/command-line'
import { type ServiceName, serviceNames } from '@warder/command-line/endpoints'
import {
  formatDefaultToml,
  formatSettingsHelp,
  formatSettingsToml,
  isSecret,
  readSettingsFile,
  toEnvName,
} from '@warder/runtime/settings'
import { checkStart, listRefusals } from '../check/check-start.ts'
import { configure } from '../installation/configuration.ts'
import { getForeignSettings, getSettings } from '../installation/services.ts'

const migrateVerb = homeVerb({
  name: 'migrate',
  words: 'FILE',
  summary: "Convert the kms.toml of another server to Warder's names",
  about:
    'Lists the renamed settings and those without a counterpart. Secrets are printed only with --output -',
  examples: ['warder config migrate /etc/other/kms.toml --output .warder/kms.toml'],
  options: {
    output: { type: 'text', value: 'FILE', help: 'file to write; - is standard output' },
    force: { type: 'flag', help: 'replaces an existing file' },
  },
  parse({ output, force }, [file, ...rest]) {
    if (file === undefined) throw new UsageError('name the file to migrate')
    requireNoNames(rest)
    return async ({ terminal }) => migrate(file, output, force, terminal)
  },
})

function migrate(file: string, output: string | undefined, force: boolean, terminal: Terminal): number {
  if (!existsSync(file)) throw new StartupError(`${file} does not exist`)
  const table = getSettings('kms')
  const { found, notices, refusals } = readSettingsFile(file, table, getForeignSettings('kms'))
  for (const notice of notices) terminal.err(notice)
  if (refusals.length > 0) {
    for (const refusal of refusals) terminal.err(refusal)
    throw new StartupError(`${file} was not migrated: ${refusals.length} of its settings have no counterpart`)
  }
  const secrets = [...found].flatMap(([key, value]) => {
    const isEmpty = Array.isArray(value) && value.length === 0
    return table[key] !== undefined && isSecret(table[key]) && !isEmpty ? [key] : []
  })
  if (output === undefined && secrets.length > 0) {
    throw new StartupError(
      `${file} contains secrets (${secrets.join(', ')}): use --output FILE, or --output - to print them`,
    )
  }
  const text = `# Settings of Warder's key management service. Every setting with its default: warder config print kms\n\n${formatSettingsToml(found)}`
  if (output === undefined || output === '-') {
    terminal.out(text.trimEnd())
    return 0
  }
  writeSettingsFile(output, text, force)
  terminal.err(`${output} written`)
  return 0
}

/** Writes the file atomically with mode 0600. @throws StartupError for an existing file, unless it may be replaced */
function writeSettingsFile(path: string, text: string, replace: boolean): void {
  if (!replace && existsSync(path)) throw new StartupError(`${path} already exists; --force replaces it`)
  const beside = `${path}.new`
  try {
    rmSync(beside, { force: true })
    const file = openSync(beside, 'wx', 0o600)
    writeFileSync(file, text)
    fsyncSync(file)
    closeSync(file)
    renameSync(beside, path)
  } catch (error) {
    throw new StartupError(`${path} cannot be written: ${describeWriteError(error, path)}`)
  }
}

const printVerb = homeVerb({
  name: 'print',
  words: 'auth|kms',
  summary: 'Print every setting with its default, as a file to edit',
  examples: ['warder config print kms > kms.toml'],
  options: {},
  parse(_, names) {
    const name = readServiceName(names)
    return async ({ terminal }) => {
      terminal.out(formatDefaultToml(name, getSettings(name)))
      return 0
    }
  },
})

const explainVerb = homeVerb({
  name: 'explain',
  words: 'auth|kms',
  summary: 'Explain every setting, with its flag and environment variable',
  examples: ['warder config explain auth'],
  options: {},
  parse(_, names) {
    const name = readServiceName(names)
    return async ({ terminal }) => {
      terminal.out(formatSettingsHelp(name, getSettings(name)))
      return 0
    }
  },
})

const checkVerb = homeVerb({
  name: 'check',
  words: '',
  summary: 'Check whether a start accepts the settings of both services',
  examples: ['warder config check --home /var/lib/warder'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return async ({ home, terminal }) => {
      const checked = await checkStart(home, terminal.env)
      for (const warning of checked.warnings) terminal.err(`warning: ${warning}`)
      const refusals = listRefusals(checked)
      for (const refusal of refusals) terminal.err(`warder config check: ${refusal}`)
      if (refusals.length > 0) return 1
      terminal.out(`the configuration in ${home} is valid`)
      return 0
    }
  },
})

const showVerb = homeVerb({
  name: 'show',
  words: '',
  summary: 'Show the effective value of every setting and its source',
  examples: ['warder config show'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return async ({ home, terminal }) => {
      for (const name of serviceNames)
        for (const line of formatValues(name, home, terminal.env)) terminal.out(line)
      return 0
    }
  },
})

export const config = verbCommand({
  name: 'config',
  summary: 'Print, check and migrate settings',
  about:
    'Settings of both services come from HOME/auth.toml, HOME/kms.toml and the environment, or have defaults.',
  verbs: [printVerb, explainVerb, checkVerb, showVerb, migrateVerb],
  examples: ['warder config print kms > kms.toml'],
})

/** Formats each setting of a service as a line. */
function formatValues(name: ServiceName, home: string, env: Terminal['env']): readonly string[] {
  const { loaded } = configure(name, home, [], env)
  return Object.entries(getSettings(name)).map(([key, setting]) => {
    const value = isSecret(setting) && loaded.values[key] !== undefined ? '[secret]' : loaded.values[key]
    const from = loaded.provenance[key]
    const where = from === 'environment' ? toEnvName(name, key, setting) : from
    return `${name}.${key} = ${value === undefined ? 'unset' : JSON.stringify(value)}  (${where})`
  })
}

function readServiceName([name, ...rest]: readonly string[]): ServiceName {
  requireNoNames(rest)
  if (name !== 'auth' && name !== 'kms') throw new UsageError('name the service: auth or kms')
  return name
}
