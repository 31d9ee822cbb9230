import { basename } from 'node:path'
import {
  formatHead,
  formatRecordAs,
  maxBuckets,
  type RecordFormat,
  recordFormats,
  type SearchFilter,
} from '@warder/audit'
import { failure } from '@warder/base'
import {
  type Access,
  defineOperation,
  del,
  get,
  type Operation,
  pageReply,
  post,
  rawReply,
} from '@warder/server'
import Type, { type Static } from 'typebox'
import { type NodeRequest, nodePath, nodeProofHeader } from './audit-nodes.ts'
import type { AuditAnswer, AuditNode, AuditSearch, VerifiedNode } from './audit-search.ts'

/** Services that the operations on the audit log need. */
export interface AuditReaderServices {
  readonly auditSearch: AuditSearch
}

const Text = (description: string) => Type.Optional(Type.String({ maxLength: 1024, description }))
const filterParameters = {
  since: Text('Only records from this time on (RFC 3339).'),
  until: Text('Only records before this time (RFC 3339).'),
  principal: Text('The caller: a user name as in `GET /me`, `app:` and the entity for a machine.'),
  object: Text('Id of the key, certificate or other object.'),
  operation: Text('Name of the operation, or the beginning of one and `*`: `crypto.encrypt`, `crypto.*`.'),
  outcome: Type.Optional(Type.Union([Type.Literal('success'), Type.Literal('failure')])),
  address: Text('Address of the client.'),
  request_id: Text('Id of the request.'),
  text: Text('Part of a name or a value in the details; case is ignored.'),
}
const FilterQuery = Type.Object(filterParameters)
const RecordsQuery = Type.Object({
  ...filterParameters,
  after: Type.Optional(
    Type.String({ maxLength: 65_536, description: '`X-Next-After` of the previous page.' }),
  ),
  limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,4}$', description: '1 to 1000, default 100.' })),
})

const CountsQuery = Type.Object({
  ...filterParameters,
  since: Type.String({ maxLength: 1024, description: 'Only records from this time on (RFC 3339).' }),
  step: Type.Optional(
    Type.Union([Type.Literal('hour'), Type.Literal('day')], {
      description: `Length of the intervals, which begin at whole hours or days (UTC); default hour. At most ${maxBuckets} of them are counted: without until the first ones from since on.`,
    }),
  ),
  after: RecordsQuery.properties.after,
})
const steps = { hour: 3_600_000, day: 86_400_000 } as const
const BucketReply = Type.Object({
  start: Type.String({ format: 'date-time', description: 'Begin of the interval.' }),
  records: Type.Integer(),
  failures: Type.Integer({ description: 'Those whose outcome is failure: also refusals.' }),
})

const Position = Type.Object({ seq: Type.Integer(), hash: Type.String() })
const NodeReply = Type.Object({
  node: Type.String(),
  answered: Type.Boolean(),
  reason: Type.Optional(Type.String({ description: 'Why it did not answer.' })),
  head: Type.Optional(Position),
  searched_to: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'Its records since this time were searched. Absent: unknown, or all of them.',
    }),
  ),
  problems: Type.Array(Type.String({ description: 'About records that were not searched or left out.' })),
})
const RecordReply = Type.Object(
  {
    seq: Type.Integer({ description: 'Number in the log of the node.' }),
    time: Type.String({ format: 'date-time' }),
    node: Type.String(),
    service: Type.String(),
    request_id: Type.String(),
    operation: Type.String(),
    principal: Type.String(),
    auth_method: Type.String(),
    realm: Type.Optional(Type.String()),
    object: Type.Optional(Type.String()),
    algorithm: Type.Optional(Type.String()),
    client_ip: Type.String(),
    outcome: Type.String(),
    status: Type.Integer(),
    reason: Type.Optional(Type.String()),
    duration_ms: Type.Number(),
    details: Type.Optional(Type.Object({}, { additionalProperties: true })),
    prev: Type.String({ description: 'Hash of the record before.' }),
    hash: Type.String(),
  },
  { additionalProperties: true },
)

const maxLimit = 1000
const defaultLimit = 100
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/

/** @throws failure('bad_request') */
function readTime(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = timePattern.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw failure('bad_request', `${name} must be a time like 2026-11-21T00:00:00Z.`)
  return time
}

/** @throws failure('bad_request') */
function readFilter(query: Static<typeof FilterQuery>): SearchFilter {
  const { since, until, request_id: requestId, ...same } = query
  for (const [name, value] of Object.entries(query))
    if (!value.isWellFormed() || value === '') throw failure('bad_request', `${name} is empty or not text.`)
  return { ...same, requestId, since: readTime('since', since), until: readTime('until', until) }
}

/** @throws failure('bad_request') */
function requireFewBuckets(since: number, until: number | undefined, step: keyof typeof steps): void {
  const stepMs = steps[step]
  if (until === undefined || until <= (Math.floor(since / stepMs) + maxBuckets) * stepMs) return
  const way = step === 'hour' ? ': ask for step=day, or for less' : ': ask for less'
  throw failure('bad_request', `since and until are more than ${maxBuckets} times the step apart${way}.`)
}

/** @throws failure('bad_request') */
function readLimit(text: string | undefined): number {
  const limit = text === undefined ? defaultLimit : Number(text)
  if (limit < 1 || limit > maxLimit) throw failure('bad_request', `limit must be 1 to ${maxLimit}.`)
  return limit
}

/**
 * Operations on the audit log of a service.
 * @param access of callers who may read it
 * @param administration of callers who may forget its nodes
 */
export function auditOperations<Services extends AuditReaderServices>(
  access: Access<Services>,
  administration: Access<Services>,
): readonly Operation<Services>[] {
  const define = defineOperation<Services>()
  const recorded: Access<Services> = {
    ...access,
    async check(input, context) {
      // Also of a caller who is refused.
      context.audit({ details: { query: { ...input.query } } })
      await access.check?.(input, context)
    },
  }
  const records = define({
    name: 'audit.records',
    reach: ['reveal records'],
    route: get('/v1/audit/records'),
    summary: 'Search the audit log, newest records first, in pages',
    description:
      'All given filters must match. A page ends after a bounded amount of work, so that it may have fewer records than `limit`, or none, and a successor. Records that do not fit the hash chain of their log are left out and named in `problems`.',
    tag: 'Audit',
    access: recorded,
    queryParameters: RecordsQuery,
    paged: true,
    reply: Type.Object({ records: Type.Array(RecordReply), nodes: Type.Array(NodeReply) }),
    errors: { 403: 'The caller may not read the audit log.', 404: 'The audit log is disabled.' },
    async act({ query }, { services }) {
      const { after, limit, ...filters } = query
      const asked = { filter: readFilter(filters), limit: readLimit(limit), after }
      const { lines, nodes, next } = await services.auditSearch.search(asked)
      return rawReply({
        raw: `{"records":[${lines.join(',')}],"nodes":${JSON.stringify(nodes.map(formatNode))}}`,
        contentType: 'application/json',
        ...(next !== undefined && { headers: { 'X-Next-After': encodeURIComponent(next) } }),
      })
    },
  })
  const counts = define({
    name: 'audit.counts',
    reach: ['reveal records'],
    route: get('/v1/audit/counts'),
    summary: 'Count records of the audit log by hour or day, with those of failures, in pages',
    description:
      'All given filters must match. A page covers a part of the logs, newest records first, in a bounded amount of work: add the counts of the same `start` over all pages.',
    tag: 'Audit',
    access: recorded,
    queryParameters: CountsQuery,
    paged: true,
    reply: Type.Object({ buckets: Type.Array(BucketReply), nodes: Type.Array(NodeReply) }),
    errors: { 403: 'The caller may not read the audit log.', 404: 'The audit log is disabled.' },
    async act({ query }, { services }) {
      const { after, step = 'hour', ...filters } = query
      const { since = 0, ...filter } = readFilter(filters)
      const stepMs = steps[step]
      requireFewBuckets(since, filter.until, step)
      const asked = { filter: { ...filter, since }, stepMs, after }
      const { buckets, nodes, next } = await services.auditSearch.count(asked)
      const shown = buckets.map(({ start, ...same }) => ({ start: new Date(start).toISOString(), ...same }))
      return pageReply({ buckets: shown, nodes: nodes.map(formatNode) }, next)
    },
  })
  const exported = define({
    name: 'audit.export',
    route: get('/v1/audit/export'),
    summary: 'Export records of the audit log, newest first, as JSON lines, CSV or CEF',
    description:
      'The export is refused when a node does not answer, unless `partial` is true. If a node stops answering meanwhile, the connection is cut.',
    tag: 'Audit',
    reach: ['reveal records'],
    access: recorded,
    queryParameters: Type.Object({
      ...filterParameters,
      format: Type.Optional(
        Type.Union([Type.Literal('jsonl'), Type.Literal('csv'), Type.Literal('cef')], {
          description: 'Default jsonl: the records as they are in the log.',
        }),
      ),
      partial: Type.Optional(
        Type.Union([Type.Literal('true'), Type.Literal('false')], {
          description: 'true: nodes that do not answer are left out, and named in `X-Audit-Missing-Nodes`.',
        }),
      ),
    }),
    replyContentType: 'application/x-ndjson',
    errors: {
      403: 'The caller may not read the audit log.',
      404: 'The audit log is disabled.',
      502: 'A node does not answer.',
    },
    async act({ query }, { services }) {
      const { format = 'jsonl', partial, ...filters } = query
      const pages = new ExportPages(services.auditSearch, readFilter(filters))
      const first = await pages.next()
      const absent = first.nodes.filter(({ answered }) => !answered)
      const missing = absent.map(({ node }) => node)
      if (missing.length > 0 && partial !== 'true')
        throw failure('bad_gateway', `These nodes do not answer: ${missing.join(', ')}.`)
      return rawReply({
        stream: streamExport(pages, first, format, new Set(absent.map(({ log }) => log))),
        contentType: recordFormats[format],
        ...(missing.length > 0 && {
          headers: { 'X-Audit-Missing-Nodes': missing.map(encodeURIComponent).join(', ') },
        }),
      })
    },
  })
  const verify = define({
    name: 'audit.verify',
    route: get('/v1/audit/verify'),
    summary: 'Verify the hash chains of the audit logs of all nodes',
    description: 'Reads all of each log, one verification at a time: some seconds for each gigabyte.',
    tag: 'Audit',
    reach: ['reveal records'],
    access: recorded,
    reply: Type.Object({ ok: Type.Boolean(), nodes: Type.Array(VerifiedReply) }),
    errors: {
      403: 'The caller may not read the audit log.',
      404: 'The audit log is disabled.',
      409: 'A verification is running.',
    },
    async act(_input, { services }) {
      const nodes = (await services.auditSearch.verify()).map(formatVerified)
      return { ok: nodes.every(({ ok }) => ok), nodes }
    },
  })
  const node = define({
    name: 'audit.node',
    route: post(nodePath),
    summary: 'Search, count or verify the audit log of this node, for another node of its database',
    tag: 'Audit',
    reach: ['reveal records'],
    access: { name: 'another node of the database', credentials: ['audit_node'] },
    security: ['auditNode'],
    bodyLimit: maxNodeBytes,
    request: NodeBody,
    reply: Type.Object({}, { additionalProperties: true }),
    async authenticate({ services, request }) {
      const header = request.headers[nodeProofHeader]
      const isNode = header !== undefined && (await services.auditSearch.isAsked(header, request.body))
      return isNode ? { name: 'node', method: 'audit_node' } : undefined
    },
    async act({ body }, { services, audit }) {
      audit({ details: { ...body } })
      return services.auditSearch.answer(toNodeRequest(body))
    },
  })
  const forget = define({
    name: 'audit.nodes.forget',
    route: del('/v1/audit/nodes/{node}'),
    summary: 'Forget a node that was retired, which is named as missing otherwise',
    description:
      'Nodes that answer stay. A node that starts again is known again. Its records are not searched until then.',
    tag: 'Audit',
    reach: ['change settings'],
    access: administration,
    pathParameters: Type.Object({ node: Type.String({ maxLength: 1024 }) }),
    status: 204,
    errors: { 404: 'No node of this name is known.', 409: 'The node answers.' },
    async act({ path }, { services, audit }) {
      audit({ object: path.node })
      await services.auditSearch.forget(path.node)
    },
  })
  return [records, counts, exported, verify, node, forget]
}

function formatNode({ log: _, ...shown }: AuditNode): Static<typeof NodeReply> {
  return { ...shown, problems: [...shown.problems] }
}

const maxNodeBytes = 32 * 1024
const NodeBody = Type.Object({
  type: Type.Union([Type.Literal('search'), Type.Literal('count'), Type.Literal('verify')]),
  filter: Type.Optional(
    Type.Object({
      since: Type.Optional(Type.Number()),
      until: Type.Optional(Type.Number()),
      principal: Type.Optional(Type.String()),
      object: Type.Optional(Type.String()),
      operation: Type.Optional(Type.String()),
      outcome: filterParameters.outcome,
      address: Type.Optional(Type.String()),
      requestId: Type.Optional(Type.String()),
      text: Type.Optional(Type.String()),
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: maxLimit })),
  before: Type.Optional(Type.Integer({ minimum: 1 })),
  stepMs: Type.Optional(Type.Union([Type.Literal(steps.hour), Type.Literal(steps.day)])),
})

function toNodeRequest(body: Static<typeof NodeBody>): NodeRequest {
  const { type, limit = defaultLimit, before, filter = {}, stepMs = steps.hour } = body
  if (type === 'search') return { type, filter, limit, before }
  return type === 'count' ? { type, filter, stepMs, before } : { type }
}

const VerifiedReply = Type.Object({
  node: Type.String(),
  answered: Type.Boolean(),
  reason: Type.Optional(Type.String()),
  ok: Type.Boolean(),
  records: Type.Optional(Type.Integer()),
  files: Type.Optional(Type.Integer()),
  removed: Type.Optional(Type.Integer({ description: 'Files that were removed.' })),
  unexplained: Type.Optional(
    Type.Array(Type.String({ description: 'Files whose removal is neither signed nor recorded.' })),
  ),
  unread: Type.Optional(Type.Array(Type.String({ description: 'Encrypted files that were not verified.' }))),
  head: Type.Optional(Position),
  broken: Type.Optional(Type.Object({ file: Type.String(), line: Type.Integer(), reason: Type.String() })),
})

function formatVerified({ node, answered, reason, result }: VerifiedNode): Static<typeof VerifiedReply> {
  if (result === undefined) return { node, answered, ok: false, ...(reason !== undefined && { reason }) }
  const { ok, records, files, removed, unexplained, unread, head, firstBroken, torn } = result
  const isWhole = ok && unexplained.length === 0 && torn === undefined && (result.first ?? 1) === 1
  return {
    ...{ node, answered, ok: isWhole, records, files, removed },
    unexplained: [...unexplained],
    unread: [...unread],
    ...(head !== undefined && { head }),
    ...(firstBroken !== undefined && { broken: { ...firstBroken, file: basename(firstBroken.file) } }),
  }
}

/** The pages of a search, one after the other. */
class ExportPages {
  readonly #search: AuditSearch
  readonly #filter: SearchFilter
  #after: string | undefined
  #isOver = false

  constructor(search: AuditSearch, filter: SearchFilter) {
    this.#search = search
    this.#filter = filter
  }

  get isOver(): boolean {
    return this.#isOver
  }

  async next(): Promise<AuditAnswer> {
    const answer = await this.#search.search({ filter: this.#filter, limit: maxLimit, after: this.#after })
    this.#after = answer.next
    this.#isOver = answer.next === undefined
    return answer
  }
}

/**
 * Maximum number of consecutive pages without a record; each page covers a part of a log. A compromised node could send
 * such pages without end.
 */
const maxEmptyPages = 1000

/** @param missing logs of nodes that did not answer at the beginning */
async function* streamExport(
  pages: ExportPages,
  first: AuditAnswer,
  format: RecordFormat,
  missing: ReadonlySet<string>,
): AsyncGenerator<string> {
  yield formatHead(format)
  let empty = 0
  for (let page = first; ; page = await pages.next()) {
    empty = page.lines.length === 0 ? empty + 1 : 0
    if (empty > maxEmptyPages) throw new Error(`${maxEmptyPages} pages in sequence have no record`)
    const gone = page.nodes.find(({ log, answered }) => !answered && !missing.has(log))
    if (gone !== undefined) throw new Error(`the node ${gone.node} does not answer any more`)
    const text = page.lines.map((line) => formatRecordAs(format, line)).join('')
    if (text !== '') yield text
    if (pages.isOver) return
  }
}
