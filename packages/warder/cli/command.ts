/** What a command gets from outside, so that a test can hold it. */
export interface Terminal {
  out(line: string): void
  err(line: string): void
  readonly env: Readonly<Record<string, string | undefined>>
  /** Nobody takes the output any more: what prints without end may stop. */
  isGone?(): boolean
}

/** One word after `warder`. Each says what it does, how it is called, and shows an example. */
export interface Command {
  readonly name: string
  readonly summary: string
  /** Lines of `warder NAME --help`. */
  readonly help: string
  /** Lines of `warder NAME VERB --help`; undefined where there is no such verb. */
  readonly helpFor?: (args: readonly string[]) => string | undefined
  /** @returns the exit code: 0 done, 1 it failed, 2 it was called wrongly */
  run(args: readonly string[], terminal: Terminal): Promise<number>
}

/** Called wrongly: one line, then where the help is; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  /** The verb whose help tells more. */
  readonly verb: string | undefined

  constructor(message: string, options: { readonly verb?: string; readonly cause?: unknown } = {}) {
    super(message, options)
    this.verb = options.verb
  }
}

/** What is behind it are names, whatever they look like: a script need not look at the names of its files. */
export const separator = '--'

/** The arguments among which options may be. */
export function optionsOf(args: readonly string[]): readonly string[] {
  const end = args.indexOf(separator)
  return end === -1 ? args : args.slice(0, end)
}

/**
 * Takes `--name VALUE` or `--name=VALUE` out of the arguments.
 * @returns the value and what is left
 * @throws UsageError when it is given twice: one of the two would be passed over in silence
 */
export function takeOption(
  args: readonly string[],
  name: string,
): { value: string | undefined; rest: string[] } {
  const rest: string[] = []
  let value: string | undefined
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? ''
    if (arg === separator) {
      rest.push(...args.slice(index))
      break
    }
    const isIt = arg === `--${name}` || arg.startsWith(`--${name}=`)
    if (isIt && value !== undefined) throw new UsageError(`--${name} is given twice`)
    if (arg === `--${name}`) {
      value = args[index + 1]
      if (value === undefined) throw new UsageError(`--${name} needs a value`)
      index += 1
    } else if (isIt) {
      value = arg.slice(name.length + 3)
    } else {
      rest.push(arg)
    }
  }
  return { value, rest }
}

/** Takes a flag without a value out of the arguments. */
export function takeFlag(args: readonly string[], name: string): { given: boolean; rest: string[] } {
  const end = optionsOf(args).length
  const rest = args.filter((arg, index) => arg !== `--${name}` || index >= end)
  return { given: rest.length !== args.length, rest }
}

/** Throws for whatever is left when a command has taken all it knows. */
export function expectNothing(rest: readonly string[]): void {
  if (rest.length > 0) throw new UsageError(`unknown argument: ${rest[0]}`)
}

/** `--home`, else `WARDER_HOME`, else `./.warder`. */
export function homeOf(option: string | undefined, env: Terminal['env']): string {
  return option ?? (env.WARDER_HOME === undefined || env.WARDER_HOME === '' ? '.warder' : env.WARDER_HOME)
}
