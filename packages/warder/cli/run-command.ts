import { describeFullDisk, StartupError, suggest } from '@warder/base'
import { styleError, styleHelp } from './colour.ts'
import { type Command, sliceBeforeSeparator, type Terminal } from './command.ts'
import { describeDatabaseError } from './database-error.ts'
import { UsageError } from './usage-error.ts'

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
    terminal.out(styleHelp(help ?? command.help))
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
