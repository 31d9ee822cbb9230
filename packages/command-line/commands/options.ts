import { parseArgs } from 'node:util'
import { suggest } from '@warder/base'

/** Declaration of an option, for parsing, help and errors. */
export interface Option {
  /** `text` may be given once, `list` several times; a `number` is whole and at least 0; a `flag` has no value. */
  readonly type: 'text' | 'number' | 'list' | 'flag'
  /** Short form: `f` for `-f`. */
  readonly short?: string
  /** Placeholder of the value in the help: `FILE`. */
  readonly value?: string
  /** true: required and not empty; a text: required, with this error message if it is missing. */
  readonly required?: true | string
  /** Help lines; undefined for an internal option. */
  readonly help?: string
}

/** Options by their names without dashes. */
export type Options = Readonly<Record<string, Option>>

type ValueOf<O extends Option> = O['type'] extends 'flag'
  ? boolean
  : O['type'] extends 'list'
    ? readonly string[]
    :
        | (O['type'] extends 'number' ? number : string)
        | (O extends { required: true | string } ? never : undefined)

/** The values of declared options: `values['new-password-file']`. */
export type ValuesOf<O extends Options> = { readonly [Name in keyof O]: ValueOf<O[Name]> }

export type Values = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

export interface Arguments<O extends Options> {
  readonly values: ValuesOf<O>
  /** The operands: arguments that are not options, and everything after `--`. */
  readonly names: readonly string[]
}

/**
 * Reads the arguments of a command whose options are declared.
 * @throws UsageError for an option that is not declared, given twice, without its value, or missing
 */
export function readArguments<const O extends Options>(args: readonly string[], options: O): Arguments<O> {
  const values = new Map<string, string | number | boolean | string[]>()
  const names: string[] = []
  for (const token of tokenize(args, options)) {
    if (token.kind === 'positional') names.push(token.value)
    if (token.kind !== 'option') continue
    const option = findOption(token, options)
    if (option === undefined) throw createUnknownOptionError(token.rawName, options)
    addValue(values, token.name, option, token.value)
  }
  return { values: completeValues(values, options), names }
}

/** Like `readArguments`, but keeps unknown arguments, in order, in `rest`. */
export function readKnownOptions<const O extends Options>(
  args: readonly string[],
  options: O,
): { readonly values: ValuesOf<O>; readonly rest: readonly string[] } {
  const values = new Map<string, string | number | boolean | string[]>()
  const taken = new Set<number>()
  for (const token of tokenize(args, options)) {
    const option = token.kind === 'option' ? findOption(token, options) : undefined
    if (token.kind !== 'option' || option === undefined) continue
    addValue(values, token.name, option, token.value)
    taken.add(token.index)
    if (token.inlineValue === false) taken.add(token.index + 1)
  }
  return { values: completeValues(values, options), rest: args.filter((_, index) => !taken.has(index)) }
}

/** Returns the operands, as far as the known options determine them. */
export function readNames(args: readonly string[], options: Options): readonly string[] {
  return tokenize(args, options).flatMap((token) => (token.kind === 'positional' ? [token.value] : []))
}

/** Requires exactly one operand. @param what name of the operand for the error @throws UsageError */
export function requireOneName(names: readonly string[], what: string): string {
  const [first, ...rest] = names
  if (first === undefined) throw new UsageError(`name the ${what}`)
  requireNoNames(rest)
  return first
}

/** Requires that there are no operands. @throws UsageError */
export function requireNoNames([first]: readonly string[]): void {
  if (first !== undefined) throw new UsageError(`unknown argument: ${first}`)
}

/** Formats an option for a shell. */
export function quoteOption(name: string, value: string | boolean | undefined): readonly string[] {
  if (value === undefined || value === false) return []
  return value === true ? [` --${name}`] : [` --${name} '${value.replaceAll("'", "'\\''")}'`]
}

type Token = ReturnType<typeof tokenize>[number]

function tokenize(args: readonly string[], options: Options) {
  const shapes = Object.entries(options).map(
    ([name, { type, short }]) =>
      [
        name,
        { type: type === 'flag' ? 'boolean' : 'string', ...(short !== undefined && { short }) },
      ] as const,
  )
  // Not strict, because a value may begin with a dash, and to produce our own errors.
  return parseArgs({ args: [...args], options: Object.fromEntries(shapes), strict: false, tokens: true })
    .tokens
}

function findOption(
  { name, rawName }: Extract<Token, { kind: 'option' }>,
  options: Options,
): Option | undefined {
  const option = Object.hasOwn(options, name) ? options[name] : undefined
  return rawName === `--${name}` || rawName === `-${option?.short}` ? option : undefined
}

function createUnknownOptionError(rawName: string, options: Options): UsageError {
  const known = Object.entries(options).flatMap(([name, { help }]) => (help === undefined ? [] : [name]))
  return new UsageError(`unknown option: ${rawName}${suggest(rawName.replace(/^-+/, ''), known, '--')}`)
}

function addValue(
  values: Map<string, string | number | boolean | string[]>,
  name: string,
  { type }: Option,
  value: string | undefined,
): void {
  const before = values.get(name)
  if (type === 'flag') {
    if (value !== undefined) throw new UsageError(`--${name} takes no value`)
    values.set(name, true)
    return
  }
  if (value === undefined) throw new UsageError(`--${name} needs a value`)
  if (type === 'list') {
    values.set(name, [...(Array.isArray(before) ? before : []), value])
    return
  }
  // Otherwise one of the two values would be ignored silently.
  if (before !== undefined) throw new UsageError(`--${name} is given twice`)
  if (type === 'number' && !/^\d{1,9}$/.test(value)) {
    throw new UsageError(`--${name} must be a whole number, not '${value}'`)
  }
  values.set(name, type === 'number' ? Number(value) : value)
}

function completeValues<O extends Options>(
  given: ReadonlyMap<string, string | number | boolean | string[]>,
  options: O,
): ValuesOf<O> {
  const entries = Object.entries(options).map(([name, { type, required }]) => {
    const value = given.get(name) ?? (type === 'flag' ? false : type === 'list' ? [] : undefined)
    if (required !== undefined && (value === undefined || (value === '' && required === true))) {
      throw new UsageError(required === true ? `--${name} is required` : required)
    }
    return [name, value]
  })
  return Object.fromEntries(entries) as ValuesOf<O>
}

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

const units: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 }

/** Reads a duration like `30d`. @returns milliseconds @throws UsageError */
export function readDuration(name: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,5})([hdw])$/.exec(text) ?? []
  const length = Number(number) * (units[unit] ?? 0)
  if (length === 0) throw new UsageError(`--${name} must be a duration like 30d, 2w or 12h, not '${text}'`)
  return length
}

/**
 * Parses a time (RFC 3339) or an age (`90d`).
 * @returns Unix milliseconds
 * @throws UsageError
 */
export function parseTime(option: string, value: string, now = Date.now()): number {
  if (/^\d+[a-z]$/.test(value)) return now - readDuration(option, value)
  const time = Date.parse(value)
  if (Number.isNaN(time))
    throw new UsageError(
      `--${option} must be a time like 2026-11-21T00:00:00Z, or an age like 90d, not '${value}'`,
    )
  return time
}

/** A usage error: one line and a pointer to the help; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  /** The verb whose help applies. */
  readonly verb: string | undefined

  constructor(message: string, options: { readonly verb?: string; readonly cause?: unknown } = {}) {
    super(message, options)
    this.verb = options.verb
  }
}
