/** Reads the width of the terminal on standard output each time: its user may resize it. */
let readColumns: () => number | undefined = () => undefined

/** Narrower terminals are treated as this wide: a table of one letter a line helps no reader. */
const minColumns = 20

interface OutputStream {
  readonly isTTY?: boolean
  readonly columns?: number
}

/**
 * Fits tables and help texts to the width of a terminal: `COLUMNS` (POSIX.1-2024, XBD 8.3), else what the terminal reports.
 * Pipes and files always get whole lines.
 */
export function detectWidth(env: Readonly<Record<string, string | undefined>>, out: OutputStream): void {
  readColumns = () => {
    if (out.isTTY !== true) return undefined
    const given = /^[1-9]\d{0,4}$/.test(env.COLUMNS ?? '') ? Number(env.COLUMNS) : out.columns
    // Some terminals report 0 if they do not know their width.
    return given === undefined || given === 0 ? undefined : Math.max(given, minColumns)
  }
}

/** Maximum number of characters in a line; undefined: no limit. */
export function getWidth(): number | undefined {
  return readColumns()
}

/** Column at which the second part of a line begins: `  --realm R             the realm`. */
const secondPart = /^ {2,}\S(?:.*?\S)??(?: {2,})(?=\S)/
/** Help lines that continue the text of an option begin at its column. */
const continuation = /^ {20,}\S/

/**
 * Wraps a help text for a terminal. Paragraphs are filled again, the text of options keeps its column where it has room;
 * lines after `Example:` stay as they are, so that they can be copied.
 */
export function fitHelp(help: string, width = getWidth()): string {
  const lines = help.split('\n')
  if (width === undefined || lines.every((line) => line.length <= width)) return help
  const fitted: string[] = []
  let paragraph = ''
  let verbatim = false
  const flush = (): void => {
    if (paragraph !== '') fitted.push(...wrapLine(paragraph, width))
    paragraph = ''
  }
  for (const line of lines) {
    const isText = /^\S/.test(line)
    if (isText) verbatim = line === 'Example:'
    if (paragraph !== '' && (isText ? /^\S/.test(paragraph) : continuation.test(line)))
      paragraph += ` ${line.trim()}`
    else {
      flush()
      if (line === '' || line.endsWith(':') || (verbatim && !isText)) fitted.push(line)
      else paragraph = line
    }
  }
  flush()
  return fitted.join('\n')
}

/** Wraps a line at blanks; further lines begin below its text. A longer word stays whole. */
function wrapLine(line: string, width: number): readonly string[] {
  if (line.length <= width) return [line]
  const indent = /^ */.exec(line)?.[0].length ?? 0
  const column = secondPart.exec(line)?.[0].length ?? indent
  // Verbs and usage lines have 0 or 2 blanks before them, and their summaries 6.
  const isUsage = column === indent && (indent === 2 || line.startsWith('warder '))
  const hasRoom = column <= width / 2
  const hang = ' '.repeat(isUsage || !hasRoom ? indent + 4 : column)
  const [first = '', ...words] = line.slice(column).split(/ +/)
  const lines = hasRoom
    ? [`${line.slice(0, column)}${first}`]
    : [line.slice(0, column).trimEnd(), `${hang}${first}`]
  for (const word of words) {
    const joined = `${lines.at(-1)} ${word}`
    if (joined.length <= width) lines[lines.length - 1] = joined
    else lines.push(`${hang}${word}`)
  }
  return lines
}
