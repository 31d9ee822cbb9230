import {
  buildAddresses,
  maySignCrl,
  pathLengthLeft,
  type StoredAuthority,
  visibleAuthorities,
} from '@warder/authority'
import { failure } from '@warder/base'
import { officerAccess, requirePrincipal, signedIn } from '@warder/keys'
import { nameText, parseCertificate } from '@warder/pki'
import { get, pageReply } from '@warder/server'
import Type, { type Static } from 'typebox'
import { authorityRight, requireAuthority } from './authority-access.ts'
import { formatDate, profileWord } from './members.ts'
import { certificatePem } from './pem.ts'
import { define, type PkiServices } from './services.ts'

const AuthoritySummary = Type.Object({
  id: Type.String(),
  kid: Type.String(),
  subject: Type.String({ description: 'RFC 4514' }),
  not_before: Type.String(),
  not_after: Type.String(),
  path_length: Type.Optional(
    Type.Integer({ description: 'Maximum number of authorities below it in a path.' }),
  ),
  profiles: Type.Optional(Type.Array(Type.String())),
  max_days: Type.Optional(Type.Integer()),
})

export const SignsCrl = Type.Boolean({
  description:
    'false: the key usage of its certificate lacks cRLSign, so no revocation list is published (RFC 5280 §6.3.3); use OCSP.',
})

function summary(authority: StoredAuthority): Static<typeof AuthoritySummary> {
  const { subject, notBefore, notAfter } = parseCertificate(authority.certificate)
  const { profiles, maxDays } = authority.settings
  const left = pathLengthLeft(authority)
  return {
    id: authority.id,
    kid: authority.keyId,
    subject: nameText(subject),
    not_before: formatDate(notBefore),
    not_after: formatDate(notAfter),
    ...(left !== undefined && { path_length: left }),
    ...(profiles !== undefined && { profiles: profiles.map(profileWord) }),
    ...(maxDays !== undefined && { max_days: maxDays }),
  }
}

const maxListed = 100

/** `GET /v1/pki/authorities`. */
export const listAuthorities = define({
  name: 'pki.authorities.list',
  reach: ['reveal existence', 'reveal attributes'],
  route: get('/v1/pki/authorities'),
  summary: 'Authorities that the caller owns or has a right on, in pages',
  tag: 'PKI',
  access: signedIn,
  queryParameters: Type.Object({
    after: Type.Optional(Type.String({ maxLength: 256 })),
    limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,3}$', description: '1 to 100, default 100.' })),
  }),
  paged: true,
  reply: Type.Array(AuthoritySummary),
  async act({ query }, context) {
    const { db, roles } = context.services
    const limit = query.limit === undefined ? maxListed : Number(query.limit)
    if (limit < 1 || limit > maxListed) throw failure('bad_request', `limit must be 1 to ${maxListed}.`)
    const caller = requirePrincipal(context)
    const all = await roles.officers.isActive(caller.name)
    if (all) context.audit(officerAccess)
    const page = await visibleAuthorities(db, { caller, all, after: query.after ?? '', limit })
    const next = page.length < limit ? undefined : page.at(-1)?.id
    return pageReply(page.map(summary), next)
  },
})

const access = authorityRight('getattributes')

/** `GET /v1/pki/authorities/{id}`. */
export const getAuthority = define({
  name: 'pki.authorities.get',
  reach: ['reveal attributes', 'reveal public'],
  route: get('/v1/pki/authorities/{id}'),
  summary: 'One authority',
  tag: 'PKI',
  access,
  pathParameters: Type.Object({ id: Type.String() }),
  reply: Type.Object({
    ...AuthoritySummary.properties,
    certificate: Type.String({ description: 'PEM' }),
    chain: Type.String({ description: 'The chain up to the root, nearest issuer first, PEM.' }),
    crl: Type.Optional(
      Type.Object({ number: Type.Integer(), this_update: Type.String(), next_update: Type.String() }),
    ),
    signs_crl: SignsCrl,
    crl_url: Type.Optional(Type.String()),
    ocsp_url: Type.Optional(Type.String()),
  }),
  errors: { 403: 'The caller has no right to read it.', 404: 'No such authority.' },
  async act(_input, context) {
    const { services } = context
    const authority = await requireAuthority(services, access.resolved(context))
    return { ...summary(authority), ...(await describePublication(services, authority)) }
  },
})

async function describePublication(services: PkiServices, authority: StoredAuthority) {
  const { id, certificate, chain } = authority
  const crl = await services.published.crl(id)
  return {
    certificate: certificatePem(certificate),
    chain: chain.map(certificatePem).join(''),
    ...(crl !== undefined && {
      crl: {
        number: crl.number,
        this_update: formatDate(crl.thisUpdate),
        next_update: formatDate(crl.nextUpdate),
      },
    }),
    ...formatAddresses(services, authority),
  }
}

/**
 * Returns the addresses at which relying parties find the CRL and the OCSP responder of an authority. They are absent
 * while `kms_public_url` is not set; an authority that may not sign CRLs has no address of one.
 */
export function formatAddresses({ revocation }: PkiServices, authority: StoredAuthority) {
  const { crlUrls: [crl_url] = [], ocspUrls: [ocsp_url] = [] } = buildAddresses(revocation, authority)
  return {
    signs_crl: maySignCrl(authority),
    ...(crl_url !== undefined && { crl_url }),
    ...(ocsp_url !== undefined && { ocsp_url }),
  }
}
