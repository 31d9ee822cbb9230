import { resolve } from 'node:path'
import {
  type Command,
  homeOption,
  optionsHelp,
  optionsUsage,
  printable,
  readArguments,
  requireNoNames,
  selectHome,
} from '@warder/command-line'
import type { MigrationPlan } from '@warder/storage'
import { checkStart, type DatabaseState, listRefusals } from './check-start.ts'

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

/** Formats the states of both databases. */
function formatStates(states: readonly DatabaseState[]): readonly string[] {
  const lines = states.flatMap(formatDatabase)
  const pending = states.flatMap(({ plans }) => [...(plans?.values() ?? [])].flatMap((plan) => plan.pending))
  if (pending.length === 0) return lines
  const stops = pending.some(({ older }) => older === undefined)
  const isReversible = pending.every(({ older }) => older === true)
  return [
    ...lines,
    stops
      ? 'Stop all nodes before you start the first node of this version.'
      : 'Nodes can be upgraded one by one; restrictions of the old nodes meanwhile are listed above.',
    isReversible
      ? 'The previous version can still be started on this database afterwards.'
      : 'The previous version cannot be started on this database afterwards: make a backup first (warder backup).',
  ]
}

function formatDatabase({ service, engine, plans, refusal }: DatabaseState): readonly string[] {
  const title = `${service.padEnd(4)}  ${engine}`
  if (refusal !== undefined) return [`${title}: a start is refused`]
  if (plans === undefined) return [`${title}: does not exist yet; the first start creates it`]
  const changes = [...plans].flatMap(([component, plan]) => formatComponent(component, plan))
  const { done = 0, pending = [] } = plans.get(service) ?? {}
  const to = done + pending.length
  const schema = pending.length === 0 ? `schema ${done}` : `schema ${done} -> ${to}`
  return [changes.length === 0 ? `${title}: ${schema}, nothing to change` : `${title}: ${schema}`, ...changes]
}

function formatComponent(component: string, { pending, ahead }: MigrationPlan): readonly string[] {
  return [
    ...pending.map(
      ({ number, name, older }) => `  ${component} ${number}: ${name}. ${describeOlderNodes(older)}`,
    ),
    ...ahead.map(({ number, name }) => `  ${component} ${number}: ${name}. Done by a newer version.`),
  ]
}

function describeOlderNodes(older: MigrationPlan['pending'][number]['older']): string {
  if (older === undefined) return 'Nodes of the previous version stop.'
  return older === true
    ? 'Nodes of the previous version continue.'
    : `Nodes of the previous version continue; such a node ${older}.`
}
