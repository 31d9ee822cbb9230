/**
 * One row of the table of settings. The table's key is the TOML key (dots make sections: `roles.editor_users`);
 * environment variable and flag follow from it (`NOTES_ROLES_EDITOR_USERS`, `--roles-editor-users`)
 * unless named here.
 */
export interface Setting<T> {
  readonly type: 'integer' | 'boolean' | 'text' | 'list' | 'secret'
  /** undefined = unset unless configured (then the value's type includes undefined). */
  readonly default: T
  readonly docs: string
  readonly min?: number
  readonly max?: number
  readonly choices?: readonly string[]
  /** Full name of the environment variable if it does not follow from the key, e.g. `NOTES_PORT`. */
  readonly env?: string
  readonly flag?: string
  /** Separator of list items in a variable or flag, for lists whose items contain commas. */
  readonly separator?: RegExp
  /** Items of a list may be tables in the file, `[[section.key]]`; each is read as its JSON text. */
  readonly tables?: boolean
  /** The items of a list contain secrets: they are never shown. */
  readonly secret?: boolean
  /** A list of one item may be a string in the file. */
  readonly single?: boolean
  /** Returns a sentence when the value will not do. */
  check?(value: NonNullable<T>): string | undefined
}

/** Whether the value is never shown. */
export function isSecret(setting: Setting<unknown>): boolean {
  return setting.type === 'secret' || setting.secret === true
}

export type SettingsTable = Readonly<Record<string, Setting<unknown>>>
export type SettingValues<Table extends SettingsTable> = {
  readonly [Key in keyof Table]: Table[Key] extends Setting<infer T> ? T : never
}

interface Common<T> {
  readonly docs: string
  readonly env?: string
  readonly flag?: string
  check?(value: NonNullable<T>): string | undefined
}

export function integer(
  row: Common<number> & { default: number; min?: number; max?: number },
): Setting<number> {
  return { type: 'integer', ...row }
}

export function optionalInteger(
  row: Common<number> & { min?: number; max?: number },
): Setting<number | undefined> {
  return { type: 'integer', default: undefined, ...row }
}

export function boolean(row: Common<boolean> & { default: boolean }): Setting<boolean> {
  return { type: 'boolean', ...row }
}

export function text(row: Common<string> & { default: string }): Setting<string> {
  return { type: 'text', ...row }
}

export function optionalText(row: Common<string>): Setting<string | undefined> {
  return { type: 'text', default: undefined, ...row }
}

export function choice<const C extends readonly string[]>(
  row: Common<C[number]> & { default: C[number]; choices: C },
): Setting<C[number]> {
  return { type: 'text', ...row }
}

export function list(
  row: Common<readonly string[]> & { default: readonly string[] } & Pick<
      Setting<unknown>,
      'separator' | 'tables' | 'secret' | 'single'
    >,
): Setting<readonly string[]> {
  return { type: 'list', ...row }
}

/** A value, or the sentence that describes the valid values. */
type Read = { readonly value: unknown } | { readonly problem: string }

/** Checks a value of a TOML file, which has its type already. */
export function readTyped(setting: Setting<unknown>, value: unknown): Read {
  switch (setting.type) {
    case 'integer': {
      const number = typeof value === 'bigint' ? Number(value) : value
      if (typeof number !== 'number' || !Number.isSafeInteger(number))
        return { problem: describeExpected(setting) }
      return checkValue(setting, number)
    }
    case 'boolean':
      return typeof value === 'boolean' ? checkValue(setting, value) : { problem: describeExpected(setting) }
    case 'list': {
      const given = setting.single === true && typeof value === 'string' ? [value] : value
      const items = Array.isArray(given)
        ? given.map((item) => toItemText(item, setting.tables === true))
        : [undefined]
      return items.every((item) => item !== undefined)
        ? checkValue(setting, items)
        : { problem: describeExpected(setting) }
    }
    default:
      return typeof value === 'string' ? checkValue(setting, value) : { problem: describeExpected(setting) }
  }
}

/** `[2048]` is as good as `["2048"]`. undefined: no item of a list. */
function toItemText(value: unknown, tables: boolean): string | undefined {
  if (typeof value === 'string' || typeof value === 'bigint' || Number.isSafeInteger(value))
    return String(value)
  const isTable =
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
  return tables && isTable
    ? JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? Number(one) : one))
    : undefined
}

/** Reads a value of an environment variable or a flag: strict, nothing is guessed. */
export function readText(setting: Setting<unknown>, text: string): Read {
  switch (setting.type) {
    case 'integer':
      if (!/^-?(0|[1-9][0-9]{0,15})$/.test(text)) return { problem: describeExpected(setting) }
      return checkValue(setting, Number(text))
    case 'boolean':
      if (text === 'true' || text === '1') return { value: true }
      return text === 'false' || text === '0' ? { value: false } : { problem: describeExpected(setting) }
    case 'list':
      return checkValue(
        setting,
        text
          .split(setting.separator ?? ',')
          .map((item) => item.trim())
          .filter((item) => item !== ''),
      )
    default:
      return checkValue(setting, text)
  }
}

function checkValue(setting: Setting<unknown>, value: NonNullable<unknown>): Read {
  if (typeof value === 'number') {
    if (setting.min !== undefined && value < setting.min) return { problem: describeExpected(setting) }
    if (setting.max !== undefined && value > setting.max) return { problem: describeExpected(setting) }
  }
  if (setting.choices !== undefined && !setting.choices.includes(String(value)))
    return { problem: describeExpected(setting) }
  const problem = setting.check?.(value)
  return problem === undefined ? { value } : { problem }
}

/** `must be an integer from 0 to 65535` */
export function describeExpected(setting: Setting<unknown>): string {
  if (setting.choices !== undefined) return `must be ${setting.choices.join(' or ')}`
  if (setting.tables === true) return 'must be an array of tables or strings'
  if (setting.type !== 'integer') {
    return {
      boolean: 'must be true or false',
      list: 'must be an array of strings',
      text: 'must be a string',
      secret: 'must be a string',
    }[setting.type]
  }
  if (setting.min !== undefined && setting.max !== undefined)
    return `must be an integer from ${setting.min} to ${setting.max}`
  if (setting.min !== undefined) return `must be an integer of at least ${setting.min}`
  return setting.max === undefined ? 'must be an integer' : `must be an integer of at most ${setting.max}`
}
