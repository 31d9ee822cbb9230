import { findAuthority, withPkiFailures } from '@warder/authority'
import { failure } from '@warder/base'
import { get, rawReply } from '@warder/server'
import Type from 'typebox'
import { certificateRight, type FoundCertificate } from './certificate-access.ts'
import { CertificateDescription, describeCertificate } from './certificate-shape.ts'
import { certificatePem } from './pem.ts'
import { define, type PkiServices } from './services.ts'

const access = certificateRight('getattributes')

/** Forms besides JSON, by the media type that a client accepts. */
const forms = {
  'application/pkix-cert': 'der',
  'application/x-pem-file': 'pem',
  'application/pem-certificate-chain': 'chain',
} as const
type Form = (typeof forms)[keyof typeof forms]

/** The supported type that the header prefers, the first of equals (RFC 9110 §12.5.1); JSON if none matches. */
function negotiateForm(accept = ''): readonly [type: string, form: Form] | undefined {
  const wanted = accept
    .split(',', maxTypes)
    .map((each) => each.split(';').map((part) => part.trim().toLowerCase()))
    .map(([type = '', ...parameters]) => ({ type, weight: parseWeight(parameters) }))
    .filter(({ type, weight }) => weight > 0 && (isJson(type) || Object.hasOwn(forms, type)))
  const [best] = wanted.toSorted((one, other) => other.weight - one.weight)
  return best === undefined || isJson(best.type)
    ? undefined
    : [best.type, forms[best.type as keyof typeof forms]]
}

const maxTypes = 32

function isJson(type: string): boolean {
  return type === 'application/json' || type === '*/*'
}

/** An invalid weight counts as 0. */
function parseWeight(parameters: readonly string[]): number {
  const weight = parameters.find((each) => each.startsWith('q='))
  return weight === undefined ? 1 : Number(weight.slice(2)) || 0
}

/** `GET /v1/pki/certificates/{id}`. */
export const getCertificate = define({
  name: 'pki.certificates.get',
  reach: ['reveal attributes', 'reveal public'],
  route: get('/v1/pki/certificates/{id}'),
  summary: 'Get a certificate as JSON, PEM, DER or with its chain, by the header Accept',
  description:
    'Accept: application/json, application/x-pem-file, application/pkix-cert, or application/pem-certificate-chain.',
  tag: 'PKI',
  access,
  pathParameters: Type.Object({ id: Type.String() }),
  reply: CertificateDescription,
  errors: { 403: 'The caller has no right to read it.', 404: 'No such certificate.' },
  async act(_input, context) {
    const { services, request } = context
    const found = access.resolved(context)
    const wanted = negotiateForm(request.headers.accept)
    if (wanted === undefined) {
      const shown = withPkiFailures(() => describeCertificate(found, services.clock.now()))
      if (shown === undefined) throw noCertificate()
      return shown
    }
    const [contentType, form] = wanted
    if (found.der === undefined) throw noCertificate()
    if (form === 'der') return rawReply({ raw: found.der, contentType })
    const above = form === 'pem' ? [] : await findChain(services, found)
    return rawReply({ raw: [found.der, ...above].map(certificatePem).join(''), contentType })
  },
})

function noCertificate() {
  return failure('not_found', 'The service no longer has the certificate itself.')
}

/** DER of the issuer certificates above it, if a local authority has them. */
async function findChain(
  { db }: PkiServices,
  { id, issued }: FoundCertificate,
): Promise<readonly Uint8Array[]> {
  const own = await findAuthority(db, id)
  if (own !== undefined) return own.chain
  const authority = issued === undefined ? undefined : await findAuthority(db, issued.authorityId)
  return authority === undefined ? [] : [authority.certificate, ...authority.chain]
}
