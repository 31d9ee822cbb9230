/**
 * Where each key of a TOML text stands: dotted key -> line (from 1). Reads tables, dotted and quoted keys and skips
 * multi-line strings and arrays; the values themselves are the parser's business.
 */
export function findTomlLines(text: string): ReadonlyMap<string, number> {
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
