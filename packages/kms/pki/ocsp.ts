import type { OcspReply } from '@warder/authority'
import { publicAccess } from '@warder/keys'
import { get, type OperationContext, post, rawReply } from '@warder/server'
import Type from 'typebox'
import { freshHeaders, fromVerifiers, isUnchanged } from './caching.ts'
import { define, type PkiServices } from './services.ts'

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
