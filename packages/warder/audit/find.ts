import { formatCsvRow, formatHead } from '@warder/audit'
import { StartupError } from '@warder/base'
import { ClientError, type Input, type KmsClient, type Reply } from '@warder/client'
import {
  formatTable,
  parseTime,
  printable,
  quoteOption,
  requireNoNames,
  requireOneName,
  UsageError,
} from '@warder/command-line'
import { formatClientError, type KmsContext, kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'
import { filters, readOutcome, times } from './records.ts'

type Query = NonNullable<Input<'audit.records'>['query']>
type Found = Reply<'audit.records'>
type AuditRecord = Found['records'][number]
type AuditNode = Found['nodes'][number]

/** Maximum number of records of one request. */
const pageSize = 1000
const defaultLimit = 100
const maxRecords = 100_000
/**
 * Maximum number of consecutive pages without a record: each covers up to millions of records, or comes from a
 * compromised node.
 */
const maxEmptyPages = 300
/** Longer texts are cut in the table. */
const maxCellLength = 64

export type Service = 'auth' | 'kms'

interface FindOptions {
  readonly service: Service
  readonly query: Query
  readonly limit: number
  readonly csv: boolean
}

/** Nodes whose records are missing, with the reason, and sentences about records that were left out. */
export class Gaps {
  readonly #sentences = new Set<string>()
  /** Nodes of the first page: each of them has records. */
  nodes = 0

  add(nodes: readonly AuditNode[]): void {
    this.nodes = Math.max(this.nodes, nodes.length)
    for (const { node, answered, reason = '', problems } of nodes) {
      if (!answered) this.#sentences.add(`the records of node ${node} are missing: ${reason}`)
      for (const problem of problems) this.#sentences.add(`node ${node}: ${problem}`)
    }
  }

  /**
   * The search ended before it was complete.
   * @param reason e.g. `after 300 pages without a record` @param way how to get the rest
   */
  addStop(nodes: readonly AuditNode[], reason: string, way: string): void {
    const reached = nodes.flatMap(({ node, searched_to: to }) =>
      to === undefined ? [] : [`${node} to ${to}`],
    )
    const back = reached.length === 0 ? '' : ` (searched back: ${reached.join(', ')})`
    this.#sentences.add(`the search was stopped ${reason}${back}: ${way}`)
  }

  get sentences(): readonly string[] {
    return [...this.#sentences].map(printable)
  }
}

/**
 * Reads pages until there are `limit` records, no further pages, or too many consecutive pages without a record.
 * @returns the `after` of the next page, or null
 */
async function readPages(
  { kms, openAuth }: Pick<KmsContext, 'kms' | 'openAuth'>,
  { service, query, limit }: FindOptions,
  gaps: Gaps,
  take: (records: readonly AuditRecord[]) => Promise<void>,
): Promise<string | null> {
  const auth = service === 'auth' ? openAuth() : undefined
  const ask = (asked: { readonly query: Query }) =>
    auth?.page('audit.records', asked) ?? kms.page('audit.records', asked).catch(explainRefusal)
  let count = 0
  let empty = 0
  let { after } = query
  do {
    const page = { ...query, limit: String(Math.min(pageSize, limit - count)), ...(after && { after }) }
    const { rows, next } = await ask({ query: page })
    gaps.add(rows.nodes)
    count += rows.records.length
    await take(rows.records)
    if (next === undefined) return null
    after = next
    empty = rows.records.length === 0 ? empty + 1 : 0
    if (empty === maxEmptyPages)
      gaps.addStop(
        rows.nodes,
        `after ${maxEmptyPages} pages without a record`,
        '--since bounds it, --after continues it',
      )
  } while (count < limit && empty < maxEmptyPages)
  return after
}

export function explainRefusal(error: unknown): never {
  if (!(error instanceof ClientError) || error.kind !== 'forbidden') throw error
  const hint = 'Crypto officers read the audit log, and can grant the right: warder access grant-audit USER.'
  throw new StartupError(formatClientError(error, hint), { cause: error })
}

async function findRecords(context: KmsContext, options: FindOptions): Promise<number> {
  const { show, note, writeOutput } = context
  const gaps = new Gaps()
  const records: AuditRecord[] = []
  if (options.csv) await writeOutput(Buffer.from(formatHead('csv')))
  const next = await readPages(context, options, gaps, async (page) => {
    if (options.csv) await writeOutput(Buffer.from(page.map(formatCsvRow).join('')))
    else records.push(...page)
  })
  if (options.csv) {
    if (next !== null) note(formatMore(options, next))
  } else {
    const more = next === null ? [] : ['', formatMore(options, next)]
    show({ records, next, gaps: gaps.sentences }, [...formatRecords(records, gaps.nodes > 1), ...more])
  }
  for (const sentence of gaps.sentences) note(sentence)
  return gaps.sentences.length === 0 ? 0 : 1
}

function formatRecords(records: readonly AuditRecord[], withNodes: boolean): readonly string[] {
  const headings = ['TIME', 'PRINCIPAL', 'OPERATION', 'OBJECT', 'ADDRESS', 'OUTCOME']
  const rows = records.map((record) => [
    record.time,
    ...(withNodes ? [clip(record.node)] : []),
    ...[record.principal, record.operation, record.object ?? '', record.client_ip].map(clip),
    record.outcome === 'success' ? 'success' : clip(`${record.status} ${record.reason ?? ''}`.trimEnd()),
  ])
  const all = withNodes ? headings.toSpliced(1, 0, 'NODE') : headings
  return formatTable(all, rows, 'no records match')
}

/** Cuts a text after `maxCellLength` characters. */
function clip(text: string): string {
  return text.length <= maxCellLength ? text : `${text.slice(0, maxCellLength - 1).toWellFormed()}…`
}

/** The command that continues, with times in place of ages: `--after` belongs to one query. */
function formatMore({ service, query, limit, csv }: FindOptions, after: string): string {
  const { object, request_id: request, ...same } = query
  const from = service === 'kms' ? undefined : service
  const options = { service: from, ...same, key: object, request, limit: String(limit), csv, after }
  const words = Object.entries(options).flatMap(([name, value]) => quoteOption(name, value))
  return `there are more: warder audit find${words.join('')}`
}

export const serviceOption = {
  service: { type: 'text', value: 'auth|kms', help: 'the service whose logs are meant (default kms)' },
} as const

/** @throws UsageError */
export function readService(service = 'kms'): Service {
  if (service !== 'kms' && service !== 'auth')
    throw new UsageError(`--service must be auth or kms, not '${service}'`)
  return service
}

/** Filters of searches alone, in addition to those of files. */
export const moreFilters = {
  address: { type: 'text', value: 'IP', help: 'address of the client' },
  request: { type: 'text', value: 'ID', help: 'id of the request' },
  text: { type: 'text', value: 'TEXT', help: 'part of a name or a value in the details; case is ignored' },
} as const

interface FilterOptions {
  readonly principal: string | undefined
  readonly operation: string | undefined
  readonly address: string | undefined
  readonly text: string | undefined
  readonly request: string | undefined
  readonly outcome: string | undefined
  readonly since: string | undefined
  readonly until: string | undefined
}

/** The filters in the words of the service. @throws UsageError */
export function readFilters(options: FilterOptions): Query {
  const { principal, operation, address, text, request, outcome, since, until } = options
  for (const [name, value] of Object.entries({ principal, operation, address, text, request }))
    if (value === '') throw new UsageError(`--${name} is empty`)
  const given = {
    ...{ principal, operation, address, text, request_id: request },
    outcome: outcome === undefined ? undefined : readOutcome(outcome),
    since: since === undefined ? undefined : new Date(parseTime('since', since)).toISOString(),
    until: until === undefined ? undefined : new Date(parseTime('until', until)).toISOString(),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

export const find = kmsVerb({
  name: 'find',
  words: '',
  usage: '[FILTER]... [--limit N] [--csv]',
  summary: 'Search the audit logs of all nodes of a service, newest records first',
  about: `The log of the key management service requires a crypto officer, a user with the right audit, or without officers the
default user; that of the authentication service a super administrator. The search is recorded.
All filters must match. TIME is RFC 3339 (2026-11-21T00:00:00Z), or an age: 12h. The table has the main members; --json
prints whole records. Exit code 1: records are missing or the search was stopped, with the reasons on standard error.`,
  examples: [
    'warder audit find --principal alice --since 7d',
    "warder audit find --key KEY --operation 'crypto.*' --outcome failure",
    'warder audit find --service auth --operation login --outcome failure --since 24h',
    'warder audit find --request 0f8fad5b-d9cb-469f-a165-70867728950e --json',
    'warder audit find --address 192.0.2.7 --since 24h --limit 10000 --csv > records.csv',
  ],
  options: {
    ...serviceOption,
    ...times,
    ...filters,
    ...moreFilters,
    limit: {
      type: 'number',
      value: 'N',
      help: `maximum number of records (default ${defaultLimit}, up to ${maxRecords})`,
    },
    after: {
      type: 'text',
      value: 'PLACE',
      help: 'continues there; the last line of an incomplete list contains the value',
    },
    csv: { type: 'flag', help: 'prints CSV (RFC 4180); cells that begin a formula get a quote in front' },
    // Of all verbs; see `outputOptions`.
    json: { type: 'flag' },
  },
  parse({ service: named, key, limit = defaultLimit, after, csv, json, ...given }, names) {
    requireNoNames(names)
    const service = readService(named)
    if (limit < 1 || limit > maxRecords) throw new UsageError(`--limit must be 1 to ${maxRecords}`)
    if (csv && json) throw new UsageError('--csv and --json exclude each other')
    for (const [name, value] of Object.entries({ key, after }))
      if (value === '') throw new UsageError(`--${name} is empty`)
    const query = { ...readFilters(given), ...(after !== undefined && { after }) }
    return async (context) => {
      const object = await resolveObject(context.kms, key)
      return findRecords(context, { service, query: { ...query, ...object }, limit, csv })
    }
  },
})

/** Records contain ids of keys, not aliases. */
export async function resolveObject(
  kms: KmsClient,
  text: string | undefined,
): Promise<{ readonly object?: string }> {
  if (text === undefined) return {}
  if (!text.startsWith('alias/')) return { object: text }
  const kid = readKid(text)
  const key = await withKeyErrors('key', kid, () => kms.call('crypto.keys.get', { path: { kid } }))
  return { object: key.kid }
}

export const forgetNode = kmsVerb({
  name: 'forget-node',
  words: 'NODE',
  summary: 'Forget a node that was retired, which find names as missing otherwise',
  about: `Requires a crypto officer, or without officers the default user; at the authentication service a super administrator.
A node that answers is not forgotten. The log itself stays in the home of the node: keep it, and verify it there. A
node that starts again is known again.`,
  examples: ['warder audit forget-node kms-3'],
  options: serviceOption,
  parse({ service: named }, names) {
    const service = readService(named)
    const node = requireOneName(names, 'node')
    if (/^\.{1,2}$/.test(node)) throw new UsageError(`'${node}' is not the name of a node`)
    return async ({ kms, openAuth, show, confirm }) => {
      await confirm(`Forget the node ${printable(node)}? Its records are not searched any more.`)
      const input = { path: { node } }
      if (service === 'kms') await kms.call('audit.nodes.forget', input)
      else await openAuth().call('audit.nodes.forget', input)
      show({ forgotten: node }, [`${printable(node)} is forgotten`])
      return 0
    }
  },
})
