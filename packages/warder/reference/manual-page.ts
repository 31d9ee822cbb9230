import type { Command } from '../cli/command.ts'
import { optionsUsage } from '../cli/help.ts'
import type { Options } from '../cli/options.ts'
import type { Verb } from '../cli/verbs.ts'
import { version } from '../cli/version.ts'

const usualExitCodes = '0 done; 1 failed, one line on standard error says why; 2 called wrongly.'

/** The manual page of a command (man(7)). */
export function manualPage(command: Command): string {
  const { name, summary, verbs = [], options = {}, about, help, exitCodes = usualExitCodes } = command
  const body =
    verbs.length === 0
      ? ['.SH DESCRIPTION', verbatim(help)]
      : [
          ...['.SH DESCRIPTION', paragraph(about ?? summary), '.SH VERBS'],
          ...verbs.map((verb) => verbText(name, verb)),
          ...['.SH OPTIONS OF EVERY VERB', optionList(options)],
        ]
  return [
    ...head(`warder-${name}`, summary),
    ...['.SH SYNOPSIS', `.B warder ${escaped(name)}`, verbs.length === 0 ? '[OPTIONS]' : 'VERB [OPTIONS]'],
    ...body,
    ...['.SH EXIT STATUS', paragraph(exitCodes.replace('Exit codes: ', ''))],
    ...['.SH SEE ALSO', '.BR warder (1)'],
  ].join('\n')
}

/** The page `warder(1)`. */
export function overviewPage(commands: readonly Command[]): string {
  return [
    ...head('warder', 'an authentication service and a key management service, self-hosted'),
    ...['.SH SYNOPSIS', '.B warder', 'COMMAND [OPTIONS]', '.SH COMMANDS'],
    ...commands.flatMap(({ name, summary }) => ['.TP', `.BR warder\\-${escaped(name)} (1)`, lineOf(summary)]),
    ...['.SH ENVIRONMENT', '.TP', '.B WARDER_HOME', 'The home folder, else ./.warder.'],
    ...['.TP', '.B NO_COLOR', 'No colours, whatever its value.'],
  ].join('\n')
}

function head(page: string, summary: string): readonly string[] {
  return [
    `.TH ${escaped(page.toUpperCase())} 1 "" "Warder ${version}" "Warder"`,
    // Neither stretched nor divided: what stands there can be copied.
    '.ad l',
    '.nh',
    '.SH NAME',
    `${escaped(page)} \\- ${escaped(summary)}`,
  ]
}

function verbText(command: string, verb: Verb): string {
  const usage = [verb.words, verb.usage ?? optionsUsage(verb.options)].filter((part) => part !== '').join(' ')
  const examples = verb.examples.length === 0 ? [] : ['.PP', 'Example:', verbatim(verb.examples.join('\n'))]
  const about = verb.about === undefined || verb.about === '' ? [] : [paragraph(verb.about)]
  return [
    ...['.SS', lineOf(verb.name), '.PP', `.B warder ${escaped(command)} ${escaped(verb.name)}`],
    ...(usage === '' ? [] : [lineOf(usage)]),
    ...[paragraph(`${verb.summary}.`), ...about, optionList(verb.options), ...examples],
  ].join('\n')
}

function optionList(options: Options): string {
  return Object.entries(options)
    .flatMap(([name, { value, help }]) => {
      if (help === undefined) return []
      const shown = value === undefined ? '' : ` \\fI${escaped(value)}\\fR`
      return ['.TP', `\\fB\\-\\-${escaped(name)}\\fR${shown}`, ...help.split('\n').map(lineOf)]
    })
    .join('\n')
}

function paragraph(text: string): string {
  // Lines that are indented are lists and examples, which stay as they are.
  return /^ /m.test(text) ? verbatim(text) : ['.PP', ...text.split('\n').map(lineOf)].join('\n')
}

function verbatim(text: string): string {
  return ['.PP', '.nf', ...text.split('\n').map(lineOf), '.fi'].join('\n')
}

/** A line that is no request, whatever it begins with. */
function lineOf(text: string): string {
  const line = escaped(text)
  return line === '' ? '.sp' : /^[.']/.test(line) ? `\\&${line}` : line
}

/** In ASCII: what groff reads depends on the language of the machine. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replace(/[^ -~]/gu, (char) => `\\[u${char.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`)
}
