import { stringify } from 'smol-toml'
import { type ForeignSettings, toForeignEnvName } from './foreign-settings.ts'
import { toEnvName, toFlag } from './load.ts'
import { describeExpected, type Setting, type SettingsTable } from './setting.ts'

/** An annotated configuration file with every default as a comment: loading it yields the defaults. */
export function formatDefaultToml(service: string, table: SettingsTable): string {
  const lines = [
    `# Settings of Warder's ${service} service. Each is shown with its default; remove the # to change it.`,
    '# A flag comes before an environment variable, that before this file.',
    '',
  ]
  let section = ''
  const entries = Object.entries(table).sort(([a], [b]) => Number(a.includes('.')) - Number(b.includes('.')))
  for (const [key, setting] of entries) {
    const parts = key.split('.')
    const name = parts.at(-1) ?? key
    const own = parts.slice(0, -1).join('.')
    if (own !== section) {
      section = own
      lines.push(`[${section}]`, '')
    }
    lines.push(`# ${setting.docs}`, `# ${name} = ${formatTomlValue(setting)}`, '')
  }
  return lines.join('\n')
}

/** `--help` of a service: each setting with flag, environment variable and default. */
export function formatSettingsHelp(service: string, table: SettingsTable): string {
  return Object.entries(table)
    .map(([key, setting]) => {
      const value = setting.type === 'boolean' ? '' : ` ${setting.type.toUpperCase()}`
      return `  --${toFlag(key, setting)}${value}\n      ${setting.docs}\n      ${toEnvName(service, key, setting)}; default ${formatDefault(setting)}`
    })
    .join('\n')
}

/** The settings as a Markdown table, for docs/reference. */
export function formatSettingsReference(service: string, table: SettingsTable): string {
  const rows = Object.entries(table).map(([key, setting]) => {
    const cells = [
      `\`${key}\``,
      `\`${toEnvName(service, key, setting)}\``,
      `\`--${toFlag(key, setting)}\``,
      formatDefault(setting),
      `${setting.docs} ${setting.type === 'text' && setting.choices === undefined ? '' : formatSentence(describeExpected(setting))}`.trim(),
    ]
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  })
  return [
    `| key in ${service}.toml | environment | flag | default | |`,
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}

/** The foreign names that are understood, as a Markdown table. */
export function formatForeignReference(service: string, rows: ForeignSettings): string {
  const cells = Object.entries(rows).map(([key, row]) => {
    const becomes =
      'to' in row
        ? `\`${row.to}\`${row.but === undefined ? '' : `; ${row.but}`}`
        : 'refused' in row
          ? `refused if it is set: ${row.refused}`
          : `ignored: ${row.needless}`
    const env = key.endsWith('.*') ? '' : `\`${toForeignEnvName(service, key, row)}\``
    return `| \`${key}\` | ${env} | ${becomes.replaceAll('|', '\\|')} |`
  })
  return ['| key there | environment there | here |', '|---|---|---|', ...cells].join('\n')
}

function formatSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function formatDefault(setting: Setting<unknown>): string {
  if (setting.default === undefined) return 'unset'
  if (Array.isArray(setting.default))
    return setting.default.length === 0 ? 'none' : setting.default.join(', ')
  return String(setting.default)
}

/** The default as TOML; for an unset one an empty value that shows the type. */
function formatTomlValue(setting: Setting<unknown>): string {
  if (setting.default !== undefined) return JSON.stringify(setting.default)
  return { integer: '0', boolean: 'false', list: '[]', text: '""', secret: '""' }[setting.type]
}

/** Settings by dotted key as a TOML file; those of no section come first. */
export function formatSettingsToml(found: ReadonlyMap<string, unknown>): string {
  const file: Record<string, unknown> = {}
  for (const [key, value] of [...found].sort(
    ([a], [b]) => Number(a.includes('.')) - Number(b.includes('.')),
  )) {
    const parts = key.split('.')
    const name = parts.pop() ?? key
    let section = file
    for (const part of parts) {
      section[part] ??= {}
      section = section[part] as Record<string, unknown>
    }
    section[name] = value
  }
  return `${stringify(file)}\n`
}
