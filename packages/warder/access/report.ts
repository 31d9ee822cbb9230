import { formatCsvCell } from '@warder/audit'
import type { Input, KmsClient, Reply } from '@warder/client'
import {
  exitNotValid,
  formatTable,
  parseTime,
  printable,
  requireNoNames,
  UsageError,
} from '@warder/command-line'
import { type KmsContext, keyOption, keyRights, kmsVerb, readKid } from '@warder/command-line/kms'

export const explainVerb = kmsVerb({
  name: 'explain',
  words: '',
  summary: 'Explain why a user may or may not use a key, and the step that would change it',
  about: `The owner of the key and crypto officers ask about any user, others about themselves. The key is not used. Roles of
other users are not known: they come with a login. Exit code 3: the user may not.`,
  examples: [
    'warder access explain --as bob --key KEY --use decrypt',
    'warder access explain --key alias/invoices --use sign --json | jq .reasons',
  ],
  options: {
    as: { type: 'text', value: 'USER', help: 'a user, or app:ID for a machine (default: you)' },
    key: keyOption,
    use: { type: 'text', value: 'RIGHT', required: true, help: 'one right: encrypt, decrypt, sign, get ...' },
  },
  parse({ as, key, use }, names) {
    requireNoNames(names)
    if (as === '') throw new UsageError('--as is empty')
    const kid = readKid(key)
    const operation = readUse('use', use)
    return async ({ kms, show }) => {
      const user_id = as ?? (await kms.call('server.me')).user
      const body = { user_id, unique_identifier: kid, operation }
      const explained = await kms.call('access.explain', { body })
      show(explained, formatExplained(explained))
      return explained.allowed ? 0 : exitNotValid
    }
  },
})

/** @throws UsageError */
function readUse(option: string, text: string): string {
  const plain = text.toLowerCase().replaceAll(/[-_]/g, '')
  const right = keyRights.find((name) => name === plain)
  if (right === undefined)
    throw new UsageError(`--${option} must be one right on a key: ${keyRights.join(', ')}`)
  return right
}

function formatExplained(explained: Reply<'access.explain'>): readonly string[] {
  const { user_id, unique_identifier, operation, allowed, reasons, step } = explained
  return [
    `${printable(user_id)} may ${allowed ? '' : 'not '}${operation} with key ${printable(unique_identifier)}`,
    ...reasons.map(({ allows, text }) => `  ${allows ? 'for' : 'against'}: ${printable(text)}`),
    ...(step === undefined ? [] : [`to change it: ${printable(step)}`]),
  ]
}

type Row = Reply<'access.report'>[number]
type Query = NonNullable<Input<'access.report'>['query']>

const ways = ['owner', 'direct', 'wildcard', 'group', 'role', 'tag'] as const
/** The columns of `GET /access/report/csv`. */
const columns = [
  ...(['user_id', 'unique_identifier', 'owner_id', 'right', 'way'] as const),
  ...(['granted_to', 'tag', 'last_used'] as const),
]
const headings = ['USER', 'KEY', 'OWNER', 'RIGHT', 'BY', 'GRANTED TO', 'TAG', 'LAST USED']
const defaultLimit = 1000
const maxLimit = 1_000_000
const pageSize = 1000

/** Rows page by page, until there are `limit` or no more. @returns whether there are more */
async function readReport(
  { kms, signal }: Pick<KmsContext, 'kms' | 'signal'>,
  query: Query,
  limit: number,
  take: (rows: readonly Row[]) => Promise<void>,
): Promise<boolean> {
  let after: string | undefined
  for (let count = 0; count < limit; ) {
    signal.throwIfAborted()
    const page = { ...query, limit: String(Math.min(pageSize, limit - count)), ...(after && { after }) }
    const { rows, next } = await kms.page('access.report', { query: page })
    await take(rows)
    count += rows.length
    after = next
    if (after === undefined) return false
  }
  return true
}

async function writeCsv(context: KmsContext, query: Query): Promise<number> {
  const write = (lines: readonly string[]) =>
    context.writeOutput(Buffer.from(lines.map((line) => `${line}\r\n`).join('')))
  await write([columns.join(',')])
  await readReport(context, query, Number.POSITIVE_INFINITY, (rows) =>
    write(rows.map((row) => columns.map((name) => formatCsvCell(row[name])).join(','))),
  )
  return 0
}

async function showReport(context: KmsContext, query: Query, limit: number): Promise<number> {
  const found: Row[] = []
  const isMore = await readReport(context, query, limit, async (rows) => {
    found.push(...rows)
  })
  const rows = found.map((row) => columns.map((name) => row[name] ?? ''))
  context.show(found, formatTable(headings, rows, 'no rights match'))
  if (isMore) context.note(`only the first ${limit} rows: --limit N shows more, --csv all`)
  return 0
}

async function showLeaver({ show }: KmsContext, kms: KmsClient, user: string): Promise<number> {
  const leaver = await kms.call('access.leaver', { query: { user_id: user } })
  const rows = leaver.items.map(({ kind, count, outcome, names }) => [
    kind,
    String(count),
    outcome.replaceAll('_', ' '),
    `${names.slice(0, 3).join(' ')}${count > 3 ? ' …' : ''}`,
  ])
  const notes = leaver.items.map(({ kind, note }) => `${kind}: ${printable(note)}`)
  const table = formatTable(
    ['WHAT', 'COUNT', 'IF DELETED', 'NAMES'],
    rows,
    `${printable(user)} has nothing here`,
  )
  show(leaver, [...table, ...(notes.length > 0 ? ['', ...notes] : [])])
  return 0
}

export const reportVerb = kmsVerb({
  name: 'report',
  words: '',
  usage:
    '[--as USER] [--key KEY] [--right RIGHT] [--way WAY] [--as-of TIME] [--limit N] [--csv] | --leaver USER',
  summary: 'Report who has which rights on which keys, and how each right came',
  about: `Crypto officers see all keys, owners their keys, and all users their own rights. The audit log records the report.
LAST USED is the day (UTC) of the last use of the key by the user, with any right, of the last 400 days.
--as-of reports the rights at a time in the past from the audit logs of all nodes, without LAST USED, to crypto
officers; if records of changes since then are missing, it is refused.
--leaver lists the keys, rights and memberships of a user, and shows which are deleted with the user and which need a
new owner. For other users it requires a crypto officer.`,
  examples: [
    'warder access report --as bob',
    'warder access report --key KEY --right decrypt',
    'warder access report --way group --json | jq -r .[].user_id',
    'warder access report --csv > rights.csv',
    'warder access report --as-of 2026-11-01 --key KEY',
    'warder access report --leaver bob',
  ],
  options: {
    as: {
      type: 'text',
      value: 'USER',
      help: 'rights of a user or app:ID; or grants to group:NAME, a role or *',
    },
    key: { type: 'text', value: 'KEY', help: 'rights on one key, by its id or alias' },
    right: { type: 'text', value: 'RIGHT', help: 'one right; owners have each' },
    way: { type: 'text', value: 'WAY', help: `how the right came: ${ways.join(', ')}` },
    'as-of': {
      type: 'text',
      value: 'TIME',
      help: 'rights at this time: RFC 3339, a day (its beginning, UTC), or an age like 90d',
    },
    limit: {
      type: 'number',
      value: 'N',
      help: `maximum number of rows (default ${defaultLimit}, up to ${maxLimit}); --csv prints all`,
    },
    csv: { type: 'flag', help: 'prints CSV (RFC 4180); cells that begin a formula get a quote in front' },
    leaver: { type: 'text', value: 'USER', help: 'all that this user has, in place of rights' },
    // Of all verbs; see `outputOptions`.
    json: { type: 'flag' },
  },
  parse({ as, key, right, way: wanted, 'as-of': asOf, limit, csv, json, leaver }, names) {
    requireNoNames(names)
    const given = { as, key, right, way: wanted, 'as-of': asOf, leaver }
    for (const [name, value] of Object.entries(given))
      if (value === '') throw new UsageError(`--${name} is empty`)
    if (csv && (json || limit !== undefined || leaver !== undefined))
      throw new UsageError('--csv excludes --json, --limit and --leaver')
    if (leaver !== undefined && [as, key, right, wanted, asOf, limit].some((value) => value !== undefined))
      throw new UsageError('--leaver excludes filters and --limit')
    if (limit !== undefined && (limit < 1 || limit > maxLimit))
      throw new UsageError(`--limit must be 1 to ${maxLimit}`)
    const way = ways.find((name) => name === wanted)
    if (wanted !== undefined && way === undefined) throw new UsageError(`--way must be ${ways.join(', ')}`)
    const query = {
      ...(as !== undefined && { user_id: as }),
      ...(key !== undefined && { unique_identifier: readKid(key) }),
      ...(right !== undefined && { right }),
      ...(way !== undefined && { way }),
      ...(asOf !== undefined && { as_of: new Date(parseTime('as-of', asOf)).toISOString() }),
    }
    return async (context) => {
      if (leaver !== undefined) return showLeaver(context, context.kms, leaver)
      return csv ? writeCsv(context, query) : showReport(context, query, limit ?? defaultLimit)
    }
  },
})
