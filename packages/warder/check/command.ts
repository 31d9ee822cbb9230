import { resolve } from 'node:path'
import { type Command, homeOption, selectHome } from '../cli/command.ts'
import { optionsHelp, optionsUsage } from '../cli/help.ts'
import { readArguments, requireNoNames } from '../cli/options.ts'
import { printable } from '../cli/table.ts'
import { checkStart, listRefusals } from './check-start.ts'
import { formatStates } from './lines.ts'

const options = { home: homeOption } as const

/** `warder check`: a dry run of a start with this version. */
export const check: Command = {
  name: 'check',
  summary: 'Show what a start would refuse and what an upgrade would change',
  options,
  help: `warder check ${optionsUsage(options)}

Runs the checks of warder start, with the same settings and environment, and writes nothing: settings, certificates, the
root key, ports (unless the services run) and both databases. Lists the migrations that a start with this version would
run, one line each, and whether nodes of the previous version can continue meanwhile. Warns if an OpenID provider cannot
be reached. The services may run. Exit code 1: a start would be refused.

${optionsHelp(options)}

Example:
  warder check --home /var/lib/warder`,
  async run(args, terminal) {
    const { values, names } = readArguments(args, options)
    requireNoNames(names)
    const home = resolve(selectHome(values.home, terminal.env))
    const checked = await checkStart(home, terminal.env)
    for (const line of formatStates(checked.databases)) terminal.out(printable(line))
    for (const warning of checked.warnings) terminal.err(printable(`warning: ${warning}`))
    const refusals = listRefusals(checked)
    for (const refusal of refusals) terminal.err(printable(`warder check: ${refusal}`))
    if (refusals.length > 0) terminal.err('warder check: a start would be refused, and would change nothing')
    return refusals.length === 0 ? 0 : 1
  },
}
