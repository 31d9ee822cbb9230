import { formatCsvCell } from '@warder/audit'
import { failure, isName } from '@warder/base'
import {
  allUsers,
  asObjectId,
  isGovernor,
  normalizeName,
  type ObjectId,
  officerAccess,
  ownAliasesOfMany,
  parseRights,
  type ReportCursor,
  type ReportRow,
  type RightsReader,
  readGroupOrRole,
  readReport,
  reportWays,
  requirePrincipal,
  signedIn,
} from '@warder/keys'
import { get, type Operation, type OperationContext, pageReply, rawReply } from '@warder/server'
import { openText, sealText } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { formatDay } from './life-shape.ts'
import { planReport, type ReportedRights, type ReportPlan, type ReportQuestion } from './report-plan.ts'
import { define, type RestServices } from './services.ts'

type Context = OperationContext<RestServices>

const maxRows = 1000
/** Queries of one page: it ends after them, also with fewer rows. */
const maxSteps = 50
/** A page ends without rows after this time while the rights at a time are computed. */
const waitMs = 10_000
const exportRows = 2000
const filterParameters = {
  user_id: Type.Optional(
    Type.String({
      maxLength: 512,
      description: 'Only rights of this user or machine, or those granted to this group, this role or `*`.',
    }),
  ),
  unique_identifier: Type.Optional(
    Type.String({ maxLength: 1024, description: 'Only rights on this key; an alias is resolved.' }),
  ),
  right: Type.Optional(
    Type.String({ maxLength: 64, description: 'Only this right: `decrypt`, `get` …; owners have each.' }),
  ),
  way: Type.Optional(
    Type.Union(
      reportWays.map((way) => Type.Literal(way)),
      { description: 'Only rights that came in this way.' },
    ),
  ),
  as_of: Type.Optional(
    Type.String({
      maxLength: 64,
      description:
        'The rights at this time (RFC 3339) in place of the present ones, from the audit log; for crypto officers. Without last uses.',
    }),
  ),
}
const Filters = Type.Object(filterParameters)
const Row = Type.Object({
  user_id: Type.String({
    description:
      'Who has the right. `*`, a role, a pattern or a group if single principals are not known or not shown.',
  }),
  unique_identifier: Type.String({ description: 'The key; `*` for rights on no key.' }),
  owner_id: Type.Optional(Type.String()),
  aliases: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Present aliases of the owner for the key, for crypto officers and the owner; absent: none.',
    }),
  ),
  right: Type.String({ description: '`*`: every right, of the owner.' }),
  way: Type.String({ description: 'owner, direct, wildcard, group, role, or tag.' }),
  granted_to: Type.Optional(
    Type.String({ description: 'The grantee of the grant, if it is not `user_id`.' }),
  ),
  tag: Type.Optional(Type.String({ description: 'The tag of a grant by tag.' })),
  last_used: Type.Optional(
    Type.String({
      description:
        'Day (UTC) of the last use of the key by the user, with any right; known for 400 days, a few seconds after the use.',
    }),
  ),
})

function formatRow(row: ReportRow, aliases: readonly string[] = []): Static<typeof Row> {
  const { principal, object, owner, right, way, grantee, tag, day } = row
  return {
    user_id: principal,
    unique_identifier: object,
    ...(owner !== undefined && { owner_id: owner }),
    ...(aliases.length > 0 && { aliases: [...aliases] }),
    right,
    way,
    ...(grantee !== principal && { granted_to: grantee }),
    ...(tag !== '' && { tag }),
    ...(day !== undefined && { last_used: formatDay(day) }),
  }
}

/** The rows with the names of their keys: those that the caller may list. */
async function formatRows(
  { services: { db }, principal }: Context,
  rows: readonly ReportRow[],
  { governs }: Pick<Question, 'governs'>,
): Promise<Static<typeof Row>[]> {
  const keys = new Map<string, { readonly id: ObjectId; readonly owner: string }>()
  for (const { object, owner } of rows) {
    const id = owner === undefined ? undefined : asObjectId(object)
    if (id !== undefined && owner !== undefined && (governs || owner === principal?.name))
      keys.set(object, { id, owner })
  }
  const aliases = await ownAliasesOfMany(db, [...keys.values()])
  return rows.map((row) => formatRow(row, aliases.get(row.object)))
}

const csvColumns = [
  ...(['user_id', 'unique_identifier', 'owner_id', 'right', 'way'] as const),
  ...(['granted_to', 'tag', 'last_used'] as const),
]

function formatCsvRow(row: ReportRow): string {
  const values = formatRow(row)
  return `${csvColumns.map((name) => formatCsvCell(values[name])).join(',')}\r\n`
}

/** @throws failure('bad_request') */
function readUserFilter(text: string): string {
  const name = isName(text) || text === allUsers ? (readGroupOrRole(text) ?? normalizeName(text)) : undefined
  if (name === undefined)
    throw failure('bad_request', 'user_id is not the name of a user, a group or a role.')
  return name
}

/** @throws failure('bad_request') */
function readRightFilter(text: string): string {
  const [right, ...others] = parseRights(text)
  if (right === undefined || others.length > 0) throw failure('bad_request', 'right is not one right.')
  return right
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/

/** @throws failure('bad_request') */
function readReportTime(text: string): number {
  const time = timePattern.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw failure('bad_request', 'as_of must be a time like 2026-11-21T00:00:00Z.')
  return time
}

/** @throws failure('bad_request' | 'conflict' | 'bad_gateway' | 'overloaded') for rights at a time that are not known */
function withRights<R>(
  context: Context,
  { asOf }: Question,
  work: (rights: ReportedRights) => Promise<R>,
): Promise<R> {
  const { db, pastRights } = context.services
  if (asOf === undefined) return work({ context, rights: db, asOf })
  return pastRights.use(asOf, (rights) => work({ context, rights, asOf }))
}

interface Question extends ReportQuestion {
  /** Unix milliseconds; undefined: now. */
  readonly asOf: number | undefined
  /** Binds a cursor to the caller and the filters. */
  readonly binding: string
}

/**
 * A name may have belonged to another user in the past, so only crypto officers (or the default user, if there are
 * none) may read the rights at a time.
 * @throws failure('bad_request'), failure('forbidden')
 */
async function readQuestion(context: Context, filters: Static<typeof Filters>): Promise<Question> {
  context.audit({ details: { query: { ...filters } } })
  const principal = requirePrincipal(context)
  const asOf = filters.as_of === undefined ? undefined : readReportTime(filters.as_of)
  const governs = await isGovernor(context.services, principal)
  if (governs) context.audit(officerAccess)
  if (asOf !== undefined && !governs) throw failure('forbidden', 'as_of is for crypto officers.')
  const user = filters.user_id === undefined ? undefined : readUserFilter(filters.user_id)
  const right = filters.right === undefined ? undefined : readRightFilter(filters.right)
  const { way, unique_identifier: kid } = filters
  const binding = JSON.stringify([principal.name, governs, user, kid, right, way, asOf])
  return { governs, user, kid, right, way, asOf, binding }
}

/** A cursor is sealed: it may contain ids of keys that the caller does not know of. */
const toSealContext = (binding: string) => ({ table: 'access_report', row: binding, column: 'cursor' })

function formatCursor({ seal }: RestServices, binding: string, cursor: ReportCursor): string {
  const text = JSON.stringify([cursor.part, ...cursor.after])
  return sealText(seal, toSealContext(binding), text)
}

/** @throws failure('bad_request') for one that is not of this caller and these filters */
async function readCursor({ seal }: RestServices, binding: string, text: string): Promise<ReportCursor> {
  const json = await openText(seal, toSealContext(binding), text)
  if (json === undefined)
    throw failure('bad_request', 'after is not the X-Next-After of a page with the same filters.')
  const [part, ...after] = JSON.parse(json) as [number, ...string[]]
  return { part, after }
}

const begin: ReportCursor = { part: 0, after: [] }

const errors = {
  400: 'Changes of rights are recorded since a later time than `as_of`.',
  403: 'Only crypto officers read the rights at a time in the past.',
  409: 'The audit log does not have all changes since `as_of`.',
  502: 'A node whose audit log has changes since `as_of` does not answer.',
}

const report = define({
  name: 'access.report',
  reach: ['reveal grants', 'reveal attributes'],
  route: get('/access/report'),
  summary: 'Who has which rights on which keys, and how each right came, in pages',
  description:
    'Crypto officers see all keys, owners their keys, and all callers their own rights. A page ends after a bounded amount of work, so that it may have fewer rows than `limit`, or none, and a successor. The report may or may not contain changes that are made while it is read. Rights that crypto officers have by their office are not listed. With `as_of`, the rights at that time are computed from the present ones and the audit logs of all nodes; if changes are missing, it is refused.',
  tag: 'Access',
  access: signedIn,
  queryParameters: Type.Object({
    ...filterParameters,
    after: Type.Optional(
      Type.String({ maxLength: 16_384, description: '`X-Next-After` of the previous page.' }),
    ),
    limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,4}$', description: '1 to 1000, default 1000.' })),
  }),
  paged: true,
  reply: Type.Array(Row),
  errors,
  async act({ query: { after, limit: wanted, ...filters } }, context) {
    const { services } = context
    const question = await readQuestion(context, filters)
    const { asOf, binding } = question
    const limit = wanted === undefined ? maxRows : Number(wanted)
    if (limit < 1 || limit > maxRows) throw failure('bad_request', `limit must be 1 to ${maxRows}.`)
    const at: ReportCursor = after === undefined ? begin : await readCursor(services, binding, after)
    if (asOf !== undefined && !(await services.pastRights.isReady(asOf, waitMs)))
      return pageReply([], formatCursor(services, binding, at))
    return withRights(context, question, async (from) => {
      const { parts, keeps } = await planReport(from, question)
      let next: ReportCursor | undefined = at
      const rows: ReportRow[] = []
      for (let step = 0; next !== undefined && rows.length < limit && step < maxSteps; step += 1) {
        const max = limit - rows.length
        const read = await readReport(from.rights, parts, next, { limit: maxRows, max, keeps })
        rows.push(...read.rows)
        next = read.next
      }
      const json = await formatRows(context, rows, question)
      return pageReply(json, next === undefined ? undefined : formatCursor(services, binding, next))
    })
  },
})

const reportCsv = define({
  name: 'access.report.export',
  reach: ['reveal grants'],
  route: get('/access/report/csv'),
  summary: 'The same report as one CSV file',
  description:
    "Sent while it is read: a failure meanwhile cuts the connection. A value that a spreadsheet would run as a formula has a `'` in front.",
  tag: 'Access',
  access: signedIn,
  queryParameters: Filters,
  replyContentType: 'text/csv',
  errors,
  async act({ query }, context) {
    const question = await readQuestion(context, query)
    // Refused before the first byte is sent.
    const plan = await withRights(context, question, (from) => planReport(from, question))
    return rawReply({
      stream: streamCsv(context.services, plan, question.asOf),
      contentType: 'text/csv; charset=utf-8; header=present',
    })
  },
})

async function* streamCsv(
  { db, pastRights }: RestServices,
  plan: ReportPlan,
  asOf: number | undefined,
): AsyncGenerator<string> {
  if (asOf === undefined) return yield* writeCsv(db, plan)
  const rights = await pastRights.hold(asOf)
  try {
    yield* writeCsv(rights.reader, plan)
  } finally {
    rights.release()
  }
}

async function* writeCsv(rights: RightsReader, { parts, keeps }: ReportPlan): AsyncGenerator<string> {
  yield `${csvColumns.join(',')}\r\n`
  for (let next: ReportCursor | undefined = begin; next !== undefined; ) {
    const read = await readReport(rights, parts, next, { limit: exportRows, max: exportRows, keeps })
    if (read.rows.length > 0) yield read.rows.map(formatCsvRow).join('')
    next = read.next
  }
}

export const reportOperations: readonly Operation<RestServices>[] = [report, reportCsv]
