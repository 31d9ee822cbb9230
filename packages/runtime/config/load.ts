import { existsSync, readFileSync } from 'node:fs'
import { StartupError, suggest } from '@warder/base'
import { parse, TomlError } from 'smol-toml'
import { type ForeignSettings, findForeignSetting, toForeignEnvName, translate } from './foreign-settings.ts'
import {
  isSecret,
  readText,
  readTyped,
  type Setting,
  type SettingsTable,
  type SettingValues,
} from './setting.ts'

/**
 * Positions of the keys in a TOML text: dotted key -> line (from 1). Reads tables, dotted and quoted keys and
 * skips multi-line strings and arrays; the values themselves are the parser's business.
 */
function findTomlLines(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>()
  let table: readonly string[] = []
  let open: string | undefined
  let brackets = 0
  for (const [index, line] of text.split('\n').entries()) {
    if (open !== undefined) {
      if (line.includes(open)) open = undefined
      continue
    }
    if (brackets > 0) {
      brackets += countOpenBrackets(line)
      continue
    }
    const header = /^\s*\[\[?\s*([^\]]+?)\s*\]\]?/.exec(line)
    if (header !== null) {
      table = splitKey(header[1] ?? '')
      if (!lines.has(table.join('.'))) lines.set(table.join('.'), index + 1)
      continue
    }
    const assignment =
      /^\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*=(.*)$/.exec(
        line,
      )
    if (assignment === null) continue
    const key = [...table, ...splitKey(assignment[1] ?? '')].join('.')
    if (!lines.has(key)) lines.set(key, index + 1)
    const value = assignment[2] ?? ''
    for (const quotes of ['"""', "'''"]) {
      const first = value.indexOf(quotes)
      if (first >= 0 && value.indexOf(quotes, first + 3) < 0) open = quotes
    }
    if (open === undefined) brackets = Math.max(0, countOpenBrackets(value))
  }
  return lines
}

function splitKey(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+)/g)].map(
    (part) => part[1] ?? part[2] ?? part[3] ?? '',
  )
}

/** Opening less closing brackets outside of strings and comments. */
function countOpenBrackets(text: string): number {
  const plain = text.replace(/"(?:[^"\\]|\\.)*"|'[^']*'/g, '').replace(/#.*$/, '')
  return (plain.match(/[[{]/g) ?? []).length - (plain.match(/[\]}]/g) ?? []).length
}

type Provenance = 'flag' | 'environment' | 'file' | 'default'

interface LoadOptions<Table extends SettingsTable> {
  readonly service: string
  readonly table: Table
  /** TOML file; it need not exist. */
  readonly file: string
  /** The default contents if the file does not exist: the start writes them to it. */
  readonly firstFile?: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  /** `--key value`, `--key=value`, `--flag`, `--no-flag`; other arguments are refused. */
  readonly args: readonly string[]
  /** Names of another server's settings that are understood in the file and the environment. */
  readonly foreign?: ForeignSettings
  /** Pairs of settings that contradict each other: a sentence when they do. */
  readonly contradictions?: readonly ((values: SettingValues<Table>) => string | undefined)[]
}

export interface LoadedConfig<Table extends SettingsTable> {
  readonly values: SettingValues<Table>
  readonly provenance: Readonly<Record<string, Provenance>>
  /** Sentences for the terminal, e.g. about environment variables without effect. */
  readonly warnings: readonly string[]
}

/** The environment variable of a setting: `NOTES_ROLES_EDITOR_USERS` for `roles.editor_users` of `notes`. */
export function toEnvName(service: string, key: string, setting: Setting<unknown>): string {
  return setting.env ?? `${service}_${key.replaceAll(/[.-]/g, '_')}`.toUpperCase()
}

/** The flag of a setting, without its dashes. */
export function toFlag(key: string, setting: Setting<unknown>): string {
  return setting.flag ?? key.replaceAll(/[._]/g, '-')
}

/**
 * Loads the settings of a service: flag before environment before file before default.
 * @throws StartupError of one line that names key, value and position
 */
export function loadConfig<const Table extends SettingsTable>(
  options: LoadOptions<Table>,
): LoadedConfig<Table> {
  const values: Record<string, unknown> = {}
  const provenance: Record<string, Provenance> = {}
  for (const [key, setting] of Object.entries(options.table)) {
    values[key] = setting.default
    provenance[key] = 'default'
  }
  const layers = [readFile(options), readEnvironment(options), readFlags(options)]
  for (const { from, found } of layers) {
    for (const [key, value] of found) {
      values[key] = value
      provenance[key] = from
    }
  }
  const typed = values as SettingValues<Table>
  for (const contradiction of options.contradictions ?? []) {
    const sentence = contradiction(typed)
    if (sentence !== undefined) throw new StartupError(sentence)
  }
  const notices = layers.flatMap((layer) => layer.notices)
  return { values: typed, provenance, warnings: [...notices, ...findUnknownVariables(options)] }
}

type Sources = Omit<LoadOptions<SettingsTable>, 'contradictions'>

interface Layer {
  readonly from: Provenance
  readonly found: ReadonlyMap<string, unknown>
  /** A sentence for each setting that was read under a foreign name. */
  readonly notices: readonly string[]
}

function readFile(sources: Sources): Layer {
  const { file, firstFile, table, foreign = {} } = sources
  const text = existsSync(file) ? undefined : (firstFile ?? '')
  const { found, notices, refusals } = readSettingsFile(file, table, foreign, text)
  if (refusals[0] !== undefined) throw new StartupError(refusals[0])
  return { from: 'file', found, notices }
}

/** A file of settings, each under our name. */
interface SettingsFile {
  readonly found: ReadonlyMap<string, unknown>
  readonly notices: readonly string[]
  /** Foreign settings that have no counterpart, each with its place: with one of them nothing starts. */
  readonly refusals: readonly string[]
}

/**
 * @param given contents of the file; default: it is read
 * @throws StartupError for an unknown setting, a value that will not do, and one setting under two names
 */
export function readSettingsFile(
  file: string,
  table: SettingsTable,
  foreign: ForeignSettings,
  given?: string,
): SettingsFile {
  let text: string
  let parsed: unknown
  try {
    text = given ?? readFileSync(file, 'utf8')
    parsed = parse(text)
  } catch (error) {
    if (error instanceof TomlError)
      throw new StartupError(`${file}:${error.line}: ${error.message.split('\n')[0]}`)
    throw new StartupError(`cannot read ${file}: ${error instanceof Error ? error.message : error}`)
  }
  const found = new Map<string, unknown>()
  const notices: string[] = []
  const refusals: string[] = []
  const lines = findTomlLines(text)
  const all = new Map(flatten(parsed, table, ''))
  const put = (place: string, name: string, key: string, value: unknown): void => {
    const setting = table[key]
    if (setting === undefined)
      throw new StartupError(`${place}: unknown setting '${key}'${suggest(key, Object.keys(table))}`)
    const read = readTyped(setting, value)
    if ('problem' in read)
      throw new StartupError(`${place}: ${name} ${read.problem}${formatGiven(setting, value)}`)
    if (found.has(key)) throw new StartupError(`${place}: ${name} sets ${key}, which is already set`)
    found.set(key, read.value)
  }
  for (const [key, value] of all) {
    const place = `${file}:${lines.get(key) ?? lines.get(key.split('.')[0] ?? '') ?? 1}`
    const row = Object.hasOwn(table, key) ? undefined : findForeignSetting(foreign, key)
    if (row === undefined) {
      put(place, key, key, value)
      continue
    }
    if (typeof value === 'string' && value.startsWith('secret://')) {
      refusals.push(
        `${place}: ${key} is refused: secret:// is not supported; use a file or an environment variable`,
      )
      continue
    }
    const translation = translate(key, row, value, all)
    if (translation === undefined) continue
    if ('refusal' in translation) refusals.push(`${place}: ${translation.refusal}`)
    else notices.push(`${place}: ${translation.notice}`)
    if ('to' in translation) put(place, key, translation.to, translation.value)
  }
  return { found, notices, refusals }
}

/** Leaves of the parsed file by dotted key. */
function flatten(value: unknown, table: SettingsTable, prefix: string): [string, unknown][] {
  if (
    typeof value !== 'object' ||
    value === null ||
    Array.isArray(value) ||
    value instanceof Date ||
    prefix in table
  ) {
    return [[prefix, value]]
  }
  return Object.entries(value).flatMap(([name, inner]) =>
    flatten(inner, table, prefix === '' ? name : `${prefix}.${name}`),
  )
}

function readEnvironment({ service, table, env, foreign = {} }: Sources): Layer {
  const found = new Map<string, unknown>()
  const notices: string[] = []
  const put = (name: string, key: string, text: string): void => {
    const setting = table[key]
    if (setting === undefined) throw new Error(`${name} is an alias of ${key}, which is not a setting`)
    const read = readText(setting, text)
    if ('problem' in read)
      throw new StartupError(`environment variable ${name} ${read.problem}${formatGiven(setting, text)}`)
    found.set(key, read.value)
  }
  const own = new Set<string>()
  for (const [key, setting] of Object.entries(table)) {
    const name = toEnvName(service, key, setting)
    own.add(name)
    const text = env[name]
    if (text !== undefined && text !== '') put(name, key, text)
  }
  for (const [key, row] of Object.entries(foreign)) {
    const name = toForeignEnvName(service, key, row)
    const text = env[name]
    if (own.has(name) || text === undefined || text === '' || text === 'false' || text === '0') continue
    const translation = translate(`environment variable ${name}`, row, text, new Map([[key, text]]))
    if (translation === undefined) continue
    if ('refusal' in translation) throw new StartupError(translation.refusal)
    notices.push(translation.notice)
    if (!('to' in translation)) continue
    if (found.has(translation.to))
      throw new StartupError(`environment variable ${name} sets ${translation.to}, which is already set`)
    put(name, translation.to, String(translation.value))
  }
  return { from: 'environment', found, notices }
}

function readFlags({ table, args }: Sources): Layer {
  const found = new Map<string, unknown>()
  const byFlag = new Map(Object.entries(table).map(([key, setting]) => [toFlag(key, setting), key]))
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? ''
    const match = /^--(no-)?([a-z0-9-]+)(?:=(.*))?$/s.exec(arg)
    const plainKey = byFlag.get(match?.[2] ?? '')
    const key = plainKey ?? byFlag.get(`no-${match?.[2]}`)
    const setting = key === undefined ? undefined : table[key]
    if (match === null || key === undefined || setting === undefined) {
      throw new StartupError(
        `unknown flag '${arg.split('=')[0]}'${suggest(arg.replace(/^--(no-)?/, ''), [...byFlag.keys()], '--')}`,
      )
    }
    let text = match[3]
    if (setting.type === 'boolean' && text === undefined) {
      text = match[1] === undefined ? 'true' : 'false'
    } else if (match[1] !== undefined) {
      throw new StartupError(`unknown flag '${arg}': only boolean settings can be disabled with --no-`)
    } else if (text === undefined) {
      index += 1
      text = args[index]
      if (text === undefined) throw new StartupError(`${arg} needs a value`)
    }
    const read = readText(setting, text)
    if ('problem' in read)
      throw new StartupError(`--${match[2]} ${read.problem}${formatGiven(setting, text)}`)
    found.set(key, read.value)
  }
  return { from: 'flag', found, notices: [] }
}

function formatGiven(setting: Setting<unknown>, value: unknown): string {
  return isSecret(setting)
    ? ''
    : ` (got ${JSON.stringify(typeof value === 'bigint' ? Number(value) : value)})`
}

/** Variables with the service's prefix that are not settings: probably typing errors, but they may belong to another program. */
function findUnknownVariables({ service, table, env, foreign = {} }: Sources): string[] {
  const prefix = `${service.toUpperCase()}_`
  const known = [
    ...Object.entries(table).map(([key, setting]) => toEnvName(service, key, setting)),
    ...Object.entries(foreign).map(([key, row]) => toForeignEnvName(service, key, row)),
  ]
  return Object.keys(env)
    .filter((name) => name.startsWith(prefix) && !known.includes(name))
    .map((name) => `environment variable ${name} is not a setting of ${service}${suggest(name, known)}`)
}
