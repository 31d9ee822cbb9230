import type { MigrationPlan } from '@warder/storage'
import type { DatabaseState } from './state.ts'

/** Formats the states of both databases. */
export function formatStates(states: readonly DatabaseState[]): readonly string[] {
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
