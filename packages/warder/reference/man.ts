import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Command,
  type Options,
  optionsUsage,
  readArguments,
  requireNoNames,
  requireOneName,
  UsageError,
  type Verb,
} from '@warder/command-line'
import { toFileRefused } from '@warder/command-line/files'
import { version } from '../version.ts'

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

const defaultExitCodes = '0 success; 1 failure, with the reason on standard error; 2 usage error.'

/** Formats the manual page of a command (man(7)). */
function formatManualPage(command: Command): string {
  const { name, summary, verbs = [], options = {}, about, help, exitCodes = defaultExitCodes } = command
  const body =
    verbs.length === 0
      ? ['.SH DESCRIPTION', formatVerbatim(help)]
      : [
          ...['.SH DESCRIPTION', formatParagraph(about ?? summary), '.SH VERBS'],
          ...verbs.map((verb) => formatVerb(name, verb)),
          ...['.SH OPTIONS OF EVERY VERB', formatOptions(options)],
        ]
  return [
    ...formatHead(`warder-${name}`, summary),
    ...['.SH SYNOPSIS', `.B warder ${escapeText(name)}`, verbs.length === 0 ? '[OPTIONS]' : 'VERB [OPTIONS]'],
    ...body,
    ...['.SH EXIT STATUS', formatParagraph(exitCodes.replace('Exit codes: ', ''))],
    ...['.SH SEE ALSO', '.BR warder (1)'],
  ].join('\n')
}

/** Formats the page `warder(1)`. */
function formatOverviewPage(commands: readonly Command[]): string {
  return [
    ...formatHead('warder', 'an authentication service and a key management service, self-hosted'),
    ...['.SH SYNOPSIS', '.B warder', 'COMMAND [OPTIONS]', '.SH COMMANDS'],
    ...commands.flatMap(({ name, summary }) => [
      '.TP',
      `.BR warder\\-${escapeText(name)} (1)`,
      formatLine(summary),
    ]),
    ...['.SH ENVIRONMENT', '.TP', '.B WARDER_HOME', 'The home folder, else ./.warder.'],
    ...['.TP', '.B NO_COLOR', 'No colours, whatever its value.'],
  ].join('\n')
}

function formatHead(page: string, summary: string): readonly string[] {
  return [
    `.TH ${escapeText(page.toUpperCase())} 1 "" "Warder ${version}" "Warder"`,
    // Without justification and hyphenation, so that text can be copied.
    '.ad l',
    '.nh',
    '.SH NAME',
    `${escapeText(page)} \\- ${escapeText(summary)}`,
  ]
}

function formatVerb(command: string, verb: Verb): string {
  const usage = [verb.words, verb.usage ?? optionsUsage(verb.options)].filter((part) => part !== '').join(' ')
  const examples =
    verb.examples.length === 0 ? [] : ['.PP', 'Example:', formatVerbatim(verb.examples.join('\n'))]
  const about = verb.about === undefined || verb.about === '' ? [] : [formatParagraph(verb.about)]
  return [
    ...['.SS', formatLine(verb.name), '.PP', `.B warder ${escapeText(command)} ${escapeText(verb.name)}`],
    ...(usage === '' ? [] : [formatLine(usage)]),
    ...[formatParagraph(`${verb.summary}.`), ...about, formatOptions(verb.options), ...examples],
  ].join('\n')
}

function formatOptions(options: Options): string {
  return Object.entries(options)
    .flatMap(([name, { value, help }]) => {
      if (help === undefined) return []
      const shown = value === undefined ? '' : ` \\fI${escapeText(value)}\\fR`
      return ['.TP', `\\fB\\-\\-${escapeText(name)}\\fR${shown}`, ...help.split('\n').map(formatLine)]
    })
    .join('\n')
}

function formatParagraph(text: string): string {
  // Text with indented lines contains lists or examples, which are not reflowed.
  return /^ /m.test(text) ? formatVerbatim(text) : ['.PP', ...text.split('\n').map(formatLine)].join('\n')
}

function formatVerbatim(text: string): string {
  return ['.PP', '.nf', ...text.split('\n').map(formatLine), '.fi'].join('\n')
}

/** Formats a text line so that it is not read as a request. */
function formatLine(text: string): string {
  const line = escapeText(text)
  return line === '' ? '.sp' : /^[.']/.test(line) ? `\\&${line}` : line
}

/** Escapes text as ASCII, because the input encoding of groff depends on the locale. */
function escapeText(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replace(/[^ -~]/gu, (char) => `\\[u${char.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`)
}
