import type { Options } from './options.ts'

/** Column at which the help of an option begins. */
const column = 24

/** Lines of the help, one or more for each option. */
export function optionsHelp(options: Options): string {
  return Object.entries(options)
    .flatMap(([name, { value, help }]) => {
      if (help === undefined) return []
      const head = `  --${name}${value === undefined ? '' : ` ${value}`}`
      const lines = help.replaceAll('\n', `\n${' '.repeat(column)}`)
      return [
        head.length > column - 2 ? `${head}\n${' '.repeat(column)}${lines}` : head.padEnd(column) + lines,
      ]
    })
    .join('\n')
}

/** A longer list of options is not shown in the usage line. */
const maxUsageLength = 90

/**
 * Formats options for the usage line: `--key KEY [--force]`; if the list is too long, only the required ones.
 */
export function optionsUsage(options: Options): string {
  const shown = Object.entries(options).flatMap(([name, { type, value, required, help }]) => {
    if (help === undefined) return []
    const text = `--${name}${value === undefined ? '' : ` ${value}`}`
    const repeated = type === 'list' ? '...' : ''
    return [
      { text: `${required === undefined ? `[${text}]` : text}${repeated}`, required: required !== undefined },
    ]
  })
  const all = shown.map(({ text }) => text).join(' ')
  if (all.length <= maxUsageLength) return all
  return [...shown.filter(({ required }) => required).map(({ text }) => text), '[OPTIONS]'].join(' ')
}
