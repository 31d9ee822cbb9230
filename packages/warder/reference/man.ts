import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, readArguments, requireNoNames, requireOneName, UsageError } from '@warder/command-line'
import { toFileRefused } from '@warder/command-line/files'
import { formatManualPage, formatOverviewPage } from './manual-page.ts'

const options = {
  dir: { type: 'text', value: 'DIR', help: 'creates this folder and writes all pages into it' },
} as const

/** `warder man`. @param loadAll every command, itself among them */
export function manCommand(loadAll: () => Promise<readonly Command[]>): Command {
  return {
    name: 'man',
    summary: 'Print manual pages, or write them into a folder',
    options,
    help: `warder man [COMMAND] [--dir DIR]

Prints the manual page of a command, or of warder itself, in the format of man(7). The pages are generated from the same
declarations as the help.

  --dir DIR             creates this folder and writes all pages into it

Example:
  warder man keys | man -l -
  warder man --dir ~/.local/share/man/man1      then: man warder-keys`,
    async run(args, terminal) {
      const { values, names } = readArguments(args, options)
      const commands = await loadAll()
      if (values.dir !== undefined) {
        requireNoNames(names)
        const count = writePages(values.dir, commands)
        terminal.out(`${count} pages written into ${values.dir}`)
        return 0
      }
      if (names.length === 0) {
        terminal.out(formatOverviewPage(commands))
        return 0
      }
      const name = requireOneName(names, 'command')
      const command = commands.find((one) => one.name === name)
      if (command === undefined) throw new UsageError(`there is no command '${name}'`)
      terminal.out(formatManualPage(command))
      return 0
    },
  }
}

function writePages(folder: string, commands: readonly Command[]): number {
  try {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'warder.1'), `${formatOverviewPage(commands)}\n`)
    for (const command of commands)
      writeFileSync(join(folder, `warder-${command.name}.1`), `${formatManualPage(command)}\n`)
  } catch (error) {
    throw toFileRefused(error, folder)
  }
  return commands.length + 1
}
