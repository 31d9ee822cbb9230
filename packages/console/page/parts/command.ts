import { quoteShell, toCurl } from './table-text.ts'

/** A value of an option; a list is given several times; undefined and false: without the option. */
type OptionValue = string | number | boolean | undefined | readonly string[]

/**
 * A command for a shell. Names are hostile: one that begins with a dash must not become an option.
 * @param names operands, or their placeholders: `NAME`
 */
export function toCommand(
  words: string,
  names: readonly string[],
  options: Readonly<Record<string, OptionValue>> = {},
): string {
  const given = Object.entries(options).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((one) => formatOption(name, one)),
  )
  const operands = names.map(quoteShell)
  const hasDash = names.some((name) => name.startsWith('-'))
  return [words, ...(hasDash ? [...given, '--', ...operands] : [...operands, ...given])].join(' ')
}

function formatOption(name: string, value: string | number | boolean | undefined): readonly string[] {
  if (value === undefined || value === false || value === '') return []
  if (value === true) return [`--${name}`]
  const text = String(value)
  return [text.startsWith('-') ? `--${name}=${quoteShell(text)}` : `--${name} ${quoteShell(text)}`]
}

/** Words of a text that are separated by commas or line ends, e.g. roles. */
export function readWords(text: string | undefined): readonly string[] {
  return (text ?? '').split(/[,\n]/).flatMap((word) => (word.trim() === '' ? [] : [word.trim()]))
}

/** The request of a page with a JSON body, for a terminal. */
export const toCurlJson = (path: string, body: unknown): string =>
  `${toCurl(path)} --json ${quoteShell(JSON.stringify(body))}`
