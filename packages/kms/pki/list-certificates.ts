import { type ListedEntry, listIssued } from '@warder/authority'
import { failure } from '@warder/base'
import { get, pageReply } from '@warder/server'
import Type, { type Static } from 'typebox'
import { authorityRight, requireAuthority } from './authority-access.ts'
import { certificateState, formatListed, ListedCertificate, StateMember } from './certificate-shape.ts'
import { parseDate } from './members.ts'
import { define, type PkiServices } from './services.ts'

const access = authorityRight('getattributes')
const maxListed = 1000
const defaultListed = 100
/** Maximum number of register entries that one request reads. */
const maxScanned = 10_000

const Query = Type.Object({
  after: Type.Optional(Type.String({ maxLength: 200, description: 'X-Next-After of the previous page.' })),
  limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,4}$', description: '1 to 1000, default 100.' })),
  state: Type.Optional(StateMember),
  subject: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'Substring of the subject, case-insensitive.',
    }),
  ),
  expires_before: Type.Optional(Type.String({ maxLength: 40, description: 'RFC 3339' })),
})
type Query = Static<typeof Query>

/** `GET /v1/pki/authorities/{id}/certificates`. */
export const listCertificates = define({
  name: 'pki.certificates.list',
  reach: ['reveal attributes', 'reveal public'],
  route: get('/v1/pki/authorities/{id}/certificates'),
  summary: 'Certificates of an authority, ordered by expiry, in pages',
  description: 'A page with a filter may have fewer entries than its limit, or none.',
  tag: 'PKI',
  access,
  pathParameters: Type.Object({ id: Type.String() }),
  queryParameters: Query,
  paged: true,
  reply: Type.Array(ListedCertificate),
  errors: { 403: 'The caller has no right to read it.', 404: 'No such authority.' },
  async act({ query }, context) {
    const { services } = context
    const { id } = await requireAuthority(services, access.resolved(context))
    const now = services.clock.now()
    const { page, next } = await matching(services, id, query, now)
    const json = page.map((entry) => ({
      ...formatListed(entry, now),
      ...(entry.successor !== undefined && { replaced_by: entry.successor }),
      renews: entry.renews || entry.profile === 'ocspResponder',
    }))
    return pageReply(json, next)
  },
})

async function matching({ db }: PkiServices, authority: string, query: Query, now: number) {
  const limit = query.limit === undefined ? defaultListed : Number(query.limit)
  if (limit < 1 || limit > maxListed) throw failure('bad_request', `limit must be 1 to ${maxListed}.`)
  const endsBy =
    query.expires_before === undefined
      ? Number.MAX_SAFE_INTEGER
      : parseDate(query.expires_before, 'expires_before')
  const subject = query.subject?.toLowerCase()
  const matches = (entry: ListedEntry): boolean =>
    (query.state === undefined || certificateState(entry, now) === query.state) &&
    (subject === undefined || entry.subject.toLowerCase().includes(subject))
  const page: ListedEntry[] = []
  // Those that have expired come first.
  const first = { notAfter: query.state === 'valid' ? now - 1 : -1, id: '' }
  let after = query.after === undefined ? first : parseCursor(query.after)
  for (let looked = 0; looked < maxScanned; ) {
    const entries = await listIssued(db, authority, { after, endsBy, limit: maxListed })
    for (const entry of entries) {
      after = { notAfter: entry.notAfter, id: entry.id }
      if (matches(entry)) page.push(entry)
      if (page.length === limit) return { page, next: formatCursor(after) }
    }
    if (entries.length < maxListed) return { page, next: undefined }
    looked += entries.length
  }
  return { page, next: formatCursor(after) }
}

function formatCursor({ notAfter, id }: { readonly notAfter: number; readonly id: string }): string {
  return `${notAfter}.${id}`
}

/** @throws failure('bad_request') */
function parseCursor(text: string) {
  const [, notAfter, id] = /^(\d{1,15})\.([A-Za-z0-9._-]{1,150})$/.exec(text) ?? []
  if (notAfter === undefined || id === undefined)
    throw failure('bad_request', 'after must be X-Next-After of a page.')
  return { notAfter: Number(notAfter), id }
}
