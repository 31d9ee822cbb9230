import type { AuthReply, Reply } from '@warder/client'
import { formatTable, printable, requireNoNames } from '@warder/command-line'
import {
  type KmsCommandParts,
  type KmsContext,
  type KmsVerb,
  kmsCommand,
  kmsVerb,
} from '@warder/command-line/kms'

type Service = 'auth' | 'kms'
type Details = Reply<'health.details'> | AuthReply<'health.details'>

const titles = { auth: 'authentication', kms: 'key management' } as const

function statusVerb(service: Service): KmsVerb {
  return kmsVerb({
    name: service,
    words: '',
    summary: `State of the ${titles[service]} service`,
    about: `Problems come first, each with the way out. Requires ${
      service === 'auth' ? 'a super administrator' : 'a crypto officer, or without officers the default user'
    }. Exit code 1: there is a fault, not only a warning.`,
    examples: [`warder status ${service}`, `warder status ${service} --json | jq .problems`],
    options: {},
    parse(_values, names) {
      requireNoNames(names)
      return (context) => showStatus(context, service)
    },
  })
}

export const statusParts: KmsCommandParts = {
  name: 'status',
  summary: 'Show nodes, certificates, backups, disks, databases and changed settings',
  about: 'Asks the running service. `warder health` checks without a login whether both services work.',
  verbs: [statusVerb('auth'), statusVerb('kms')],
  example: `  warder status kms
  warder status auth`,
}

export const status = kmsCommand(statusParts)

async function readDetails({ kms, openAuth }: KmsContext, service: Service): Promise<Details> {
  if (service === 'kms') return kms.call('health.details')
  const auth = openAuth()
  return auth.call('health.details').finally(() => auth.close())
}

async function showStatus(context: KmsContext, service: Service): Promise<number> {
  const details = await readDetails(context, service)
  context.show(details, formatDetails(details))
  return details.problems.some(({ level }) => level === 'danger') ? 1 : 0
}

function formatDetails(details: Details): readonly string[] {
  const { service, version, node, started_at: since, parts, nodes, certificates, backups, disks } = details
  const { audit, root_key: rootKey, settings } = details
  return [
    printable(`${service} ${version} on node ${node}, since ${since}`),
    ...formatProblems(details),
    '',
    ...formatTable(
      ['PART', 'STATE'],
      Object.values(parts).map((part) => [part.name, part.status === 'UP' ? 'works' : 'does not work']),
      'no parts',
    ),
    '',
    ...formatTable(
      ['NODE', 'STATE', 'AUDIT RECORDS'],
      nodes.map((one) => [one.node, one.answered ? 'answers' : 'no answer', String(one.records ?? '')]),
      'no nodes',
    ),
    '',
    ...formatTable(
      ['CERTIFICATE', 'EXPIRES', 'SUBJECT'],
      certificates.map(({ use, not_after, subject, names }) => [
        ...[use, not_after.slice(0, 10), subject || (names ?? '')],
      ]),
      'no certificates: the service does not use TLS',
    ),
    '',
    printable(`last backup           ${backups.last_backup_at ?? 'none known'}`),
    printable(`last restore test     ${backups.last_drill_at ?? 'none known'}`),
    ...disks.map(({ path, free_bytes: free, total_bytes: total }) =>
      printable(`disk of ${path}: ${toGib(free)} of ${toGib(total)} GiB free`),
    ),
    ...formatDatabase(details),
    printable(
      `audit log             ${audit.enabled ? audit.failure_mode : 'disabled'}${audit.encrypted ? ', encrypted' : ''}`,
    ),
    printable(
      `root key              ${rootKey.source}, ${rootKey.usable ? 'usable' : 'a restart would fail'}`,
    ),
    '',
    ...formatTable(
      ['CHANGED SETTING', 'VALUE', 'FROM'],
      settings.map(({ name, value, from }) => [name, formatValue(value), from]),
      'all settings have their defaults',
    ),
  ]
}

function formatProblems({ problems }: Details): readonly string[] {
  if (problems.length === 0) return ['nothing is wrong']
  return problems.flatMap(({ level, problem, remedy, command }) => [
    printable(`${level === 'danger' ? 'FAULT  ' : 'warning'}  ${problem} ${remedy}`),
    ...(command === undefined ? [] : [printable(`           ${command.join(' ')}`)]),
  ])
}

function formatDatabase({ database }: Details): readonly string[] {
  const { engine, version, location, migrations } = database
  const done = migrations.map(
    ({ component, done: count, newer }) => `${component} ${count}${newer > 0 ? ` (${newer} newer)` : ''}`,
  )
  return [
    printable(`database              ${engine} ${version}, ${location}`),
    printable(`migrations            ${done.join(', ')}`),
  ]
}

const toGib = (bytes: number): string => (bytes / 1024 ** 3).toFixed(1)

function formatValue(value: unknown): string {
  if (value === undefined) return '[secret]'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
