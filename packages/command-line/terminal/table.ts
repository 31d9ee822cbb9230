import { escapeHidden } from '@warder/base'
import { styleHeading } from './colour.ts'

/** Formats rows below their headings, each column as wide as its widest cell; returns `nothing` if there are no rows. */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  nothing: string,
): readonly string[] {
  if (rows.length === 0) return [nothing]
  const cells = [headings, ...rows.map((row) => row.map(printable))]
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? '').length)))
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return lines.map((line, index) => (index === 0 ? styleHeading(line) : line))
}

/** Replaces control and direction characters, which could manipulate the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd')
}

/** JSON for programs. Characters that could manipulate a terminal are written as `\\uXXXX`. */
export function formatJson(document: unknown): string {
  return escapeHidden(JSON.stringify(document, undefined, 2))
}

/** Formats Unix seconds as `2026-11-21 14:05:09Z`. */
export function formatTime(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 19).replace('T', ' ')}Z`
}
