/** A value of a cell, for copies. */
export type CellValue = string | number | boolean | readonly string[] | undefined

const toText = (value: CellValue): string =>
  value === undefined ? '' : Array.isArray(value) ? value.join(' ') : String(value)

/** RFC 4180. A leading apostrophe keeps spreadsheets from executing a cell as a formula. */
function toCsvCell(value: CellValue): string {
  const text = toText(value)
  const safe = typeof value !== 'number' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** @param rows the first has the titles */
export function toCsv(rows: readonly (readonly CellValue[])[]): string {
  return rows.map((row) => `${row.map(toCsvCell).join(',')}\r\n`).join('')
}

/** @returns a list of objects with these names */
export function toJson(names: readonly string[], rows: readonly (readonly CellValue[])[]): string {
  const objects = rows.map((row) =>
    Object.fromEntries(names.map((name, index) => [name, row[index] ?? null])),
  )
  return `${JSON.stringify(objects, undefined, 2)}\n`
}

/** Quotes a word for a shell. */
export function quoteShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/**
 * The request of a page, for a terminal. `WARDER_SESSION` has the token of a session: a page cannot read its cookie. The
 * scripts of the page come from the service.
 */
export const toCurl = (path: string): string =>
  `curl --cookie "_ea_=$WARDER_SESSION" ${quoteShell(new URL(path, import.meta.url).href)}`
