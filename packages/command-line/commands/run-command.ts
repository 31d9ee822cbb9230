import { describeFullDisk, StartupError, suggest } from '@warder/base'
import { styleError, styleHelp } from '../terminal/colour.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { fitHelp } from '../terminal/width.ts'
import { type Command, sliceBeforeSeparator } from './command.ts'
import { UsageError } from './options.ts'

/** Runs a command, or prints its help; prints errors of the user. @returns the exit code */
export async function runCommand(
  command: Command,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const { name } = command
  const options = sliceBeforeSeparator(args)
  if (options.includes('--help') || options.includes('-h')) {
    const [verb = '--help'] = args
    const help = command.helpFor?.(args)
    if (help === undefined && command.helpFor !== undefined && !verb.startsWith('-')) {
      const verbs = [...new Set(command.verbs?.map((known) => known.name))]
      const like = suggest(verb, verbs).replace(/^;/, ',')
      terminal.err(styleError(`warder ${name}: there is no verb '${verb}'${like}; see warder ${name} --help`))
      return 2
    }
    terminal.out(styleHelp(fitHelp(help ?? command.help)))
    return 0
  }
  try {
    return await command.run(args, terminal)
  } catch (error) {
    if (error instanceof UsageError) {
      const topic = error.verb === undefined ? name : `${name} ${error.verb}`
      const more = `see warder ${topic} --help`
      const asks = error.message.endsWith('?')
      terminal.err(styleError(`warder ${name}: ${error.message}${asks ? ` (${more})` : `; ${more}`}`))
      return 2
    }
    if (error instanceof StartupError) {
      terminal.err(styleError(`warder ${name}: ${error.message}`))
      return 1
    }
    const trouble = describeDatabaseError(error)
    if (trouble !== undefined) {
      terminal.err(styleError(`warder ${name}: ${trouble}`))
      return 1
    }
    if (describeFullDisk(error, '.') !== undefined) {
      const { path = 'a file', message } = error as NodeJS.ErrnoException
      terminal.err(
        styleError(`warder ${name}: ${path} cannot be written: ${message}; free disk space and run it again`),
      )
      return 1
    }
    throw error
  }
}

/** Describes an unavailable database, a full disk or a rejected statement; undefined for other errors. */
function describeDatabaseError(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { kind, detail } = error as Error & { readonly kind?: unknown; readonly detail?: unknown }
  if (kind === 'storage_unavailable')
    return `the database is unavailable: ${typeof detail === 'string' ? detail : error.message}`
  return describePostgresError(error)
}

/** SQLSTATE of a missing database privilege. */
const insufficientPrivilege = '42501'

/** Describes an error of PostgreSQL, which has a severity and a code of five characters (PostgreSQL, appendix A). */
function describePostgresError(error: Error): string | undefined {
  const { code, severity } = error as Error & { readonly code?: unknown; readonly severity?: unknown }
  if (typeof severity !== 'string' || typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code))
    return undefined
  const hint =
    code === insufficientPrivilege
      ? '; the user in database_url must own the database: ALTER DATABASE name OWNER TO user'
      : ''
  return `PostgreSQL rejected a statement: ${error.message} (${code})${hint}`
}
