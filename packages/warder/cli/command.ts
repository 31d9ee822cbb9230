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
const separator = '--'

/** The arguments among which options may be. */
export function optionsOf(args: readonly string[]): readonly string[] {
  const end = args.indexOf(separator)
  return end === -1 ? args : args.slice(0, end)
}

/** `--home` of commands that work with a home. */
export const homeOption = {
  type: 'text',
  value: 'DIR',
  help: 'home folder (default WARDER_HOME, else ./.warder)',
} as const

/** `--home`, else `WARDER_HOME`, else `./.warder`. */
export function homeOf(option: string | undefined, env: Terminal['env']): string {
  return option ?? (env.WARDER_HOME === undefined || env.WARDER_HOME === '' ? '.warder' : env.WARDER_HOME)
}
