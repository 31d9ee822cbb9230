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
  /** Full name of the environment variable where it does not follow from the key, e.g. `NOTES_PORT`. */
  readonly env?: string
  readonly flag?: string
  /** Separator of list items in a variable or flag, for lists whose items contain commas. */
  readonly separator?: RegExp
  /** Items of a list may be tables in the file, `[[section.key]]`; each is read as its JSON text. */
  readonly tables?: boolean
  /** Returns a sentence when the value will not do. */
  check?(value: NonNullable<T>): string | undefined
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
  row: Common<readonly string[]> & { default: readonly string[]; separator?: RegExp; tables?: boolean },
): Setting<readonly string[]> {
  return { type: 'list', ...row }
}
