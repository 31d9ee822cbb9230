import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { describeWriteError, StartupError } from '@warder/base'
import { homeVerb, requireNoNames, type Terminal, UsageError } from '@warder/command-line'
import { formatSettingsToml, readSettingsFile } from '@warder/runtime/settings'
import { getForeignSettings, getSettings } from '../installation/services.ts'

export const migrateVerb = homeVerb({
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
  const secrets = [...found.keys()].filter((key) => table[key]?.type === 'secret')
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
