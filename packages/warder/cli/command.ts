import type { Options } from './options.ts'
import type { Verb } from './verb.ts'

export { UsageError } from './usage-error.ts'

/** Everything a command gets from outside, so that a test can hold it. */
export interface Terminal {
  out(line: string): void
  err(line: string): void
  readonly env: Readonly<Record<string, string | undefined>>
  /** Which of the two streams a person reads at a terminal; undefined: neither. */
  readonly isTerminal?: { readonly out: boolean; readonly err: boolean }
  /** Nobody takes the output any more: what prints without end may stop. */
  isGone?(): boolean
  /** The same for a process that serves: it goes on whether or not its lines are read. */
  forService?(): Terminal
}

/** One word after `warder`. Each says what it does, how it is called, and shows an example. */
export interface Command {
  readonly name: string
  readonly summary: string
  /** Lines of `warder NAME --help`. */
  readonly help: string
  /** Lines of `warder NAME VERB --help`; undefined where there is no such verb. */
  readonly helpFor?: (args: readonly string[]) => string | undefined
  /** Its verbs, and the options of all of them or of the command itself: completion and manual pages come from them. */
  readonly verbs?: readonly Verb[]
  readonly options?: Options
  /** Its exit codes, in lines of the help; default: those of every command. */
  readonly exitCodes?: string
  /** Sentences of its manual page; default: its help. */
  readonly about?: string
  /** @returns the exit code: 0 done, 1 it failed, 2 it was called wrongly */
  run(args: readonly string[], terminal: Terminal): Promise<number>
}

/** All words behind it are names, even with a dash: a script need not check the names of its files. */
const separator = '--'

/** The arguments among which options may be. */
export function sliceBeforeSeparator(args: readonly string[]): readonly string[] {
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
export function selectHome(option: string | undefined, env: Terminal['env']): string {
  return option ?? (env.WARDER_HOME === undefined || env.WARDER_HOME === '' ? '.warder' : env.WARDER_HOME)
}
