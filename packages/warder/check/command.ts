import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { StartupError } from '@warder/foundation/errors'
import { type Command, homeOf, homeOption, type Terminal } from '../cli/command.ts'
import { optionsHelp, optionsUsage } from '../cli/help.ts'
import { readArguments, requireNoNames } from '../cli/options.ts'
import { printable } from '../cli/table.ts'
import { checkAsStart } from '../installation/checks.ts'
import { configure } from '../installation/configuration.ts'
import { serviceNames } from '../installation/services.ts'
import { linesOf } from './lines.ts'
import { type DatabaseState, stateOf } from './state.ts'

const options = { home: homeOption } as const

/** `warder check`: what a start of this version would do, without doing it. */
export const check: Command = {
  name: 'check',
  summary: 'says what a start would refuse, and what an upgrade would change',
  options,
  help: `warder check ${optionsUsage(options)}

Checks the settings of both services, opens both databases without changing them, and says which migrations a start of this
version would carry out: one line each, and whether nodes of the version before go on meanwhile. It may run while the
services run. Exit code 1: a start would be refused.

${optionsHelp(options)}

Example:
  warder check --home /var/lib/warder`,
  async run(args, terminal) {
    const { values, names } = readArguments(args, options)
    requireNoNames(names)
    const home = resolve(homeOf(values.home, terminal.env))
    if (!existsSync(home)) throw new StartupError(`the home folder ${home} is not there`)
    const states = await statesOf(home, terminal)
    for (const line of linesOf(states)) terminal.out(printable(line))
    for (const { warning } of states)
      if (warning !== undefined) terminal.err(printable(`warning: ${warning}`))
    const refusals = states.flatMap(({ service, refusal }) =>
      refusal === undefined ? [] : [`${service}: ${refusal}`],
    )
    for (const refusal of refusals) terminal.err(printable(`warder check: ${refusal}`))
    if (refusals.length > 0) terminal.err('warder check: neither service would change anything')
    return refusals.length === 0 ? 0 : 1
  },
}

/** Of both, also when a start of the first would be refused. */
async function statesOf(home: string, { env, err }: Terminal): Promise<readonly DatabaseState[]> {
  const states: DatabaseState[] = []
  for (const service of serviceNames) {
    const configuration = configure(service, home, [], env)
    for (const warning of configuration.loaded.warnings) err(`warning: ${warning}`)
    await checkAsStart(service, configuration)
    states.push(await stateOf(service, configuration.launch))
  }
  return states
}
