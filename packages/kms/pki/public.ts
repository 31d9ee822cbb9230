import type { StoredCrl } from '@warder/authority'
import { failure } from '@warder/base'
import { publicAccess } from '@warder/keys'
import { get, rawReply } from '@warder/server'
import Type from 'typebox'
import { freshHeaders, fromVerifiers, isUnchanged } from './caching.ts'
import { define, type PkiServices } from './services.ts'

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
