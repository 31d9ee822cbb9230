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

/** Longer lists of options are told below the line alone. */
const maxUsageLength = 90

/**
 * Options as they stand in the line that shows how a verb is called: `--key KEY [--force]`; of many, those that are
 * required.
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
