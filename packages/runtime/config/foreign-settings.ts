/**
 * Settings under the names of another server whose file or environment starts this one. Each row maps a
 * setting to one of Warder, ignores it because it is not needed, or refuses it with a message that names the
 * alternative.
 */
export type ForeignSetting = ForeignAlias | ForeignRefusal | ForeignNeedless

interface ForeignRow {
  /** Its environment variable, if that does not follow from the last part of the key (`NOTES_HOSTNAME`). */
  readonly env?: string
}

export interface ForeignAlias extends ForeignRow {
  /** Our setting. */
  readonly to: string
  /** The difference here, as a sentence for the notice. */
  readonly but?: string
  /** Our value for theirs; undefined = the setting stays as it is. */
  value?(theirs: unknown, all: ReadonlyMap<string, unknown>): unknown
}

export interface ForeignRefusal extends ForeignRow {
  /** The reason why it cannot be used, and the alternative. */
  readonly refused: string
  /** Values without effect, besides those that are empty, false or 0. */
  readonly harmless?: readonly unknown[]
}

export interface ForeignNeedless extends ForeignRow {
  /** Why nothing is lost without it. */
  readonly needless: string
}

/** By dotted key; `section.*` matches all other keys of a section. */
export type ForeignSettings = Readonly<Record<string, ForeignSetting>>

export function findForeignSetting(rows: ForeignSettings, key: string): ForeignSetting | undefined {
  if (Object.hasOwn(rows, key)) return rows[key]
  const section = `${key.split('.')[0]}.*`
  return key.includes('.') && Object.hasOwn(rows, section) ? rows[section] : undefined
}

/** The translation of one foreign setting. */
export type Translation =
  | { readonly to: string; readonly value: unknown; readonly notice: string }
  | { readonly notice: string }
  | { readonly refusal: string }
  | undefined

/** Files that list every setting spell an unset one so. */
const isUnset = (value: unknown): boolean =>
  value === '' || (Array.isArray(value) && value.length === 0) || value === undefined

const isSwitchedOff = (value: unknown): boolean =>
  isUnset(value) || value === false || value === 0 || value === 0n

/**
 * @param name in the file or the environment, for the notice
 * @param all every setting of the file, by dotted key: rows may depend on each other
 * @returns undefined when no notice is needed: the setting is unset, or switched off
 */
export function translate(
  name: string,
  row: ForeignSetting,
  value: unknown,
  all: ReadonlyMap<string, unknown>,
): Translation {
  if ('refused' in row) {
    const plain = typeof value === 'bigint' ? Number(value) : value
    if (isSwitchedOff(value) || row.harmless?.includes(plain) === true) return undefined
    return { refusal: `${name} is refused: ${row.refused}` }
  }
  if ('needless' in row)
    return isSwitchedOff(value) ? undefined : { notice: `${name} is ignored: ${row.needless}` }
  if (isUnset(value)) return undefined
  const ours = row.value === undefined ? value : row.value(value, all)
  if (ours === undefined) return undefined
  return {
    to: row.to,
    value: ours,
    notice: `${name} is read as ${row.to}${row.but === undefined ? '' : `; ${row.but}`}`,
  }
}

/** The environment variable of a foreign setting. */
export function toForeignEnvName(service: string, key: string, row: ForeignSetting): string {
  return row.env ?? `${service}_${key.split('.').at(-1) ?? key}`.toUpperCase()
}
