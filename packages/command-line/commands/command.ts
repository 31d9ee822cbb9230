import { accessSync, existsSync, constants as files, statSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import type { Terminal } from '../terminal/terminal.ts'
import type { Options } from './options.ts'
import type { Verb } from './verbs.ts'

/** An invalid signature or MAC, as opposed to a check that failed (1). */
export const exitNotValid = 3

/** Exit code that a shell reports for a command that a signal ended. */
export function toExitCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

/** Help lines about exit codes. */
export const exitCodesHelp = `Exit codes: 0 success; 1 failure, with the reason on standard error; 2 usage error; 3 invalid signature or MAC
(verify, mac --verify); 130 interrupted (Ctrl-C), 143 terminated.`

/** A command: one word after `warder`. */
export interface Command {
  readonly name: string
  readonly summary: string
  /** Lines of `warder NAME --help`. */
  readonly help: string
  /** Lines of `warder NAME VERB --help`; undefined if there is no such verb. */
  readonly helpFor?: (args: readonly string[]) => string | undefined
  /** Its verbs, and the options of the command or of all verbs; source of completion and manual pages. */
  readonly verbs?: readonly Verb[]
  readonly options?: Options
  /** Help lines about its exit codes; default: those of every command. */
  readonly exitCodes?: string
  /** Sentences of its manual page; default: its help. */
  readonly about?: string
  /** @returns the exit code: 0 success, 1 failure, 2 usage error */
  run(args: readonly string[], terminal: Terminal): Promise<number>
}

/** All arguments after it are operands, even with a dash: a script need not check its file names. */
const separator = '--'

/** Returns the arguments before `--`, which may contain options. */
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

/** Home of an installation from a package. */
const packageHome = '/var/lib/warder'

interface FoundHome {
  readonly path: string
  /** It belongs to another user, who lets this one read where its services are. */
  readonly isForeign: boolean
}

/**
 * Finds the home of running services: `--home`, else `WARDER_HOME`, else `./.warder`; if that does not exist, the one of the
 * installed package, if this user may read where its services are.
 */
export function findHome(
  option: string | undefined,
  env: Terminal['env'],
  installed = packageHome,
): FoundHome {
  const path = selectHome(option, env)
  const isNamed = option !== undefined || (env.WARDER_HOME ?? '') !== ''
  if (isNamed || existsSync(path) || !isReadable(join(installed, 'endpoints.json')))
    return { path, isForeign: false }
  return { path: installed, isForeign: statSync(installed).uid !== process.getuid?.() }
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, files.R_OK)
    return true
  } catch {
    return false
  }
}
