import type { OcspReply, StoredCrl } from '@warder/authority'
import { failure } from '@warder/base'
import { publicAccess } from '@warder/keys'
import { get, type IncomingRequest, type OperationContext, post, rawReply } from '@warder/server'
import Type from 'typebox'
import { define, type PkiServices } from './services.ts'

/** Query parameters at the addresses that certificates name. */
const fromVerifiers = {
  names: 'any',
  because: 'Programs that verify certificates send this request, often through a cache.',
} as const

/** Facts for caches about a reply. Times in Unix milliseconds. */
interface Freshness {
  readonly etag: string
  readonly modified: number
  /** Caches do not revalidate before this time. */
  readonly until: number
  readonly now: number
}

/** @param control directives besides `max-age` */
function freshHeaders({ etag, modified, until, now }: Freshness, control: string) {
  const seconds = Math.max(0, Math.floor((until - now) / 1000))
  return {
    ETag: etag,
    'Last-Modified': httpDate(modified),
    Expires: httpDate(until),
    'Cache-Control': `max-age=${seconds}, ${control}`,
  }
}

/** IMF-fixdate (RFC 9110 §5.6.7). */
function httpDate(ms: number): string {
  return new Date(ms).toUTCString()
}

/** RFC 9110 §13.2.2: If-Modified-Since applies only without If-None-Match. @param modified Unix milliseconds */
function isUnchanged({ headers }: Pick<IncomingRequest, 'headers'>, etag: string, modified: number): boolean {
  const tags = headers['if-none-match']
  if (tags !== undefined) return names(tags, etag)
  const since = headers['if-modified-since']
  const time = since === undefined ? Number.NaN : Date.parse(since)
  return time >= Math.floor(modified / 1000) * 1000
}

/** RFC 9110 §13.1.2, weak comparison. */
function names(header: string, etag: string): boolean {
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '')
  return header.trim() === '*' || header.split(',').some((tag) => opaque(tag) === opaque(etag))
}

const IssuerId = Type.Object({
  issuer_id: Type.String({ description: 'Id of the certificate of the authority.' }),
})

const crlType = 'application/pkix-crl'
/** Caches revalidate this long before the list expires. */
const marginMs = 60_000

/**
 * `GET /public/certificates/{issuer_id}/crl`: the last signed list. The request signs nothing, so a flood costs only
 * its traffic.
 */
export const crl = define({
  name: 'pki.crl',
  reach: ['reveal public'],
  route: get('/public/certificates/{issuer_id}/crl'),
  summary: 'Certificate revocation list of an authority, DER',
  description: 'RFC 5280 §5. The list is signed in advance: after a revocation, and before its nextUpdate.',
  tag: 'PKI',
  access: publicAccess,
  audited: false,
  cors: 'any-origin',
  foreignParameters: fromVerifiers,
  pathParameters: IssuerId,
  replyContentType: crlType,
  errors: { 304: 'Not changed.', 404: 'No such authority, or it has no list yet.' },
  async act({ path }, { services, request }) {
    const found = await services.published.crl(path.issuer_id)
    if (found === undefined) return noList(services, path.issuer_id)
    const headers = crlHeaders(found, services.clock.now(), services.revocation.crlCacheMs)
    if (isUnchanged(request, found.etag, found.thisUpdate)) return rawReply({ status: 304, headers })
    return rawReply({ raw: found.der, contentType: crlType, headers })
  },
})

async function noList({ published }: PkiServices, id: string): Promise<never> {
  throw failure(
    'not_found',
    (await published.signsNoCrl(id))
      ? 'The certificate of this authority does not permit it to sign revocation lists (keyUsage without cRLSign, RFC 5280 §6.3.3): use OCSP.'
      : 'There is no such authority, or it has no revocation list.',
  )
}

function crlHeaders({ etag, thisUpdate, nextUpdate }: StoredCrl, now: number, maxAgeMs: number) {
  const until = Math.max(now, Math.min(now + maxAgeMs, nextUpdate - marginMs))
  return {
    ...freshHeaders({ etag, modified: thisUpdate, until, now }, 'public, no-transform'),
    'Content-Disposition': 'inline',
  }
}

const certificateType = 'application/pkix-cert'

/** Address of an authority's own certificate, as the certificates that it issued name it (RFC 5280 §4.2.2.1). */
export const issuerCertificate = define({
  name: 'pki.issuer',
  reach: ['reveal public'],
  route: get('/public/certificates/{issuer_id}/certificate'),
  summary: 'Certificate of an authority, DER',
  tag: 'PKI',
  access: publicAccess,
  audited: false,
  cors: 'any-origin',
  foreignParameters: fromVerifiers,
  pathParameters: IssuerId,
  replyContentType: certificateType,
  cacheControl: 'public, max-age=86400',
  errors: { 404: 'No such authority.' },
  async act({ path }, { services }) {
    const der = await services.published.certificate(path.issuer_id)
    if (der === undefined) throw failure('not_found', 'There is no such authority.')
    return rawReply({ raw: der, contentType: certificateType })
  },
})

const contentType = 'application/ocsp-response'
const common = {
  tag: 'PKI',
  access: publicAccess,
  reach: ['reveal public'],
  audited: false,
  cors: 'any-origin',
  foreignParameters: fromVerifiers,
  replyContentType: contentType,
  description:
    'RFC 6960, RFC 5019, RFC 8954. OCSP errors are replies with status 200, as the standard requires: malformedRequest, unauthorized for certificates of other issuers, tryLater.',
} as const

/** `GET /ocsp/{request}`: base64 of the request, its characters escaped or not. */
export const ocspGet = define({
  ...common,
  name: 'pki.ocsp.get',
  route: get('/ocsp/{request**}'),
  summary: 'Status of certificates (OCSP), the request in the path',
  pathParameters: Type.Object({ request: Type.String({ description: 'base64 of the DER' }) }),
  async act({ path }, { services, request }) {
    const reply = await services.published.ocsp.forPath(path.request)
    const { fresh } = reply
    if (fresh !== undefined && isUnchanged(request, fresh.etag, fresh.producedAt))
      return rawReply({ status: 304, headers: cacheHeaders(reply, services) })
    return toResponse(reply, services)
  },
})

const inBody = {
  ...common,
  summary: 'Status of certificates (OCSP), the request in the body',
  bodyLimit: 64 * 1024,
  rawBody: true,
  act: async (_input: unknown, { services, request }: OperationContext<PkiServices>) =>
    toResponse(await services.published.ocsp.forRequest(request.body), services),
} as const

/** `POST /ocsp`, and `/ocsp/` for clients that end every address with a slash, as RFC 6960 §A.1 has them do for GET. */
export const ocspPosts = [
  define({ ...inBody, name: 'pki.ocsp.post', route: post('/ocsp') }),
  define({ ...inBody, name: 'pki.ocsp.post_slash', route: post('/ocsp/') }),
]

function toResponse(reply: OcspReply, services: PkiServices) {
  return rawReply({ raw: reply.der, contentType, headers: cacheHeaders(reply, services) })
}

/** RFC 5019 §6.2. Errors and responses with a nonce are not cached. */
function cacheHeaders({ fresh }: OcspReply, { clock }: PkiServices): Record<string, string> {
  if (fresh === undefined) return { 'Cache-Control': 'no-store' }
  const { etag, producedAt, nextUpdate } = fresh
  return freshHeaders(
    { etag, modified: producedAt, until: nextUpdate, now: clock.now() },
    'public, no-transform, must-revalidate',
  )
}
