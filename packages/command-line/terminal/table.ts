import { escapeHidden } from '@warder/base'
import { styleHeading } from './colour.ts'
import type { Terminal } from './terminal.ts'
import { getWidth } from './width.ts'

const gap = '  '
/** Minimum width of a column that is cut: a date, or the beginning of a text. */
const minColumnLength = 10
/** Ids and addresses are useless without their end. */
const identifier = /^\S{24,}$/

/**
 * Formats rows below their headings, each column as wide as its widest cell; returns `nothing` if there are no rows. On a
 * terminal that is too narrow, texts after the first column are cut, with `…`; if that does not suffice, each row is
 * printed as lines of heading and cell. Ids are never cut.
 * @param width of the terminal; undefined: not a terminal
 */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  nothing: string,
  width = getWidth(),
): readonly string[] {
  if (rows.length === 0) return [nothing]
  const cells = [headings, ...rows.map((row) => row.map(printable))]
  const lengths = headings.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? '').length)))
  const mayCut = headings.map(
    (_, column) => column > 0 && !cells.some((row) => identifier.test(row[column] ?? '')),
  )
  const widths = fitColumns(lengths, mayCut, width)
  if (widths === undefined) return formatRecords(headings, cells.slice(1))
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cut(cell, widths[column] ?? 0).padEnd(widths[column] ?? 0))
      .join(gap)
      .trimEnd(),
  )
  return lines.map((line, index) => (index === 0 ? styleHeading(line) : line))
}

/** Narrows the widest columns that may be cut until the line fits. @returns undefined when it cannot fit */
function fitColumns(
  lengths: readonly number[],
  mayCut: readonly boolean[],
  width: number | undefined,
): readonly number[] | undefined {
  const widths = [...lengths]
  const sum = (): number => widths.reduce((total, length) => total + length, gap.length * (widths.length - 1))
  while (width !== undefined && sum() > width) {
    const length = Math.max(0, ...widths.filter((_, column) => mayCut[column]))
    if (length <= minColumnLength) return undefined
    const widest = widths.findIndex((each, column) => mayCut[column] && each === length)
    const next = Math.max(
      minColumnLength,
      ...widths.filter((each, column) => mayCut[column] && each < length),
    )
    widths[widest] = Math.max(next, length - (sum() - width))
  }
  return widths
}

function cut(cell: string, length: number): string {
  if (cell.length <= length) return cell
  // A pair of surrogates is not split.
  return `${cell.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** Long lines are left to the terminal, so that ids can be copied. */
function formatRecords(headings: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const column = Math.max(...headings.map(({ length }) => length)) + gap.length
  return rows.flatMap((row, index) => [
    ...(index === 0 ? [] : ['']),
    ...row.flatMap((cell, at) =>
      cell === '' ? [] : [`${styleHeading((headings[at] ?? '').padEnd(column))}${cell}`],
    ),
  ])
}

/** Formats names and values as lines, without entries that have no value; long values are left to the terminal. */
export function formatFacts(entries: readonly (readonly [name: string, value: string])[]): readonly string[] {
  const column = Math.max(0, ...entries.map(([name]) => name.length)) + 1 + gap.length
  return entries.flatMap(([name, value]) =>
    value === '' ? [] : [`${`${name}:`.padEnd(column)}${printable(value)}`],
  )
}

/** Replaces control and direction characters, which could manipulate the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd')
}

/** JSON for programs. Characters that could manipulate a terminal are written as `\\uXXXX`. */
export function formatJson(document: unknown): string {
  return escapeHidden(JSON.stringify(document, undefined, 2))
}

/** Returns a function that prints lines of text, or with `--json` one document. */
export function createShow(
  terminal: Pick<Terminal, 'out'>,
  json: boolean,
): (document: unknown, lines: readonly string[]) => void {
  return (document, lines) => {
    for (const line of json ? [formatJson(document)] : lines) terminal.out(line)
  }
}

/** Formats Unix seconds as `2026-11-21 14:05:09Z`. */
export function formatTime(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 19).replace('T', ' ')}Z`
}
