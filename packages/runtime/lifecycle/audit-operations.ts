import type { SearchFilter } from '@warder/audit'
import { failure } from '@warder/base'
import { type Access, defineOperation, get, type Operation, rawReply } from '@warder/server'
import Type, { type Static } from 'typebox'
import type { AuditSearch } from './audit-search.ts'

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
const RecordsQuery = Type.Object({
  ...filterParameters,
  after: Type.Optional(
    Type.String({ maxLength: 65_536, description: '`X-Next-After` of the previous page.' }),
  ),
  limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,4}$', description: '1 to 1000, default 100.' })),
})

const Position = Type.Object({ seq: Type.Integer(), hash: Type.String() })
const NodeReply = Type.Object({
  node: Type.String(),
  answered: Type.Boolean(),
  reason: Type.Optional(Type.String({ description: 'Why it did not answer.' })),
  head: Type.Optional(Position),
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
function readFilter(query: Omit<Static<typeof RecordsQuery>, 'after' | 'limit'>): SearchFilter {
  const { since, until, request_id: requestId, ...same } = query
  for (const [name, value] of Object.entries(query))
    if (!value.isWellFormed() || value === '') throw failure('bad_request', `${name} is empty or not text.`)
  return { ...same, requestId, since: readTime('since', since), until: readTime('until', until) }
}

/** @throws failure('bad_request') */
function readLimit(text: string | undefined): number {
  const limit = text === undefined ? defaultLimit : Number(text)
  if (limit < 1 || limit > maxLimit) throw failure('bad_request', `limit must be 1 to ${maxLimit}.`)
  return limit
}

/**
 * Operations on the audit log of a service.
 * @param access of those who may read it
 */
export function auditOperations<Services extends AuditReaderServices>(
  access: Access<Services>,
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
        raw: `{"records":[${lines.join(',')}],"nodes":${JSON.stringify(nodes)}}`,
        contentType: 'application/json',
        ...(next !== undefined && { headers: { 'X-Next-After': encodeURIComponent(next) } }),
      })
    },
  })
  return [records]
}
