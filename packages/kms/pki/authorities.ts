import { createHash } from 'node:crypto'
import {
  type AuthorityState,
  buildAddresses,
  findIssuers,
  maxCounted,
  maySignCrl,
  pathLengthLeft,
  readAuthorityState,
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

export const SignsCrl = Type.Boolean({
  description:
    'false: the key usage of its certificate lacks cRLSign, so no revocation list is published (RFC 5280 §6.3.3); use OCSP.',
})

const AuthoritySummary = Type.Object({
  id: Type.String(),
  kid: Type.String(),
  subject: Type.String({ description: 'RFC 4514' }),
  issuer: Type.Union([Type.String(), Type.Null()], {
    description:
      'Id of the authority of this service that issued it; null for a root, and below an authority that is not here.',
  }),
  issuer_name: Type.String({ description: 'RFC 4514; the subject for a root.' }),
  fingerprint: Type.String({ description: 'SHA-256 of its certificate, hexadecimal.' }),
  not_before: Type.String(),
  not_after: Type.String(),
  path_length: Type.Optional(
    Type.Integer({ description: 'Maximum number of authorities below it in a path.' }),
  ),
  profiles: Type.Optional(Type.Array(Type.String())),
  max_days: Type.Optional(Type.Integer()),
  unexpired: Type.Integer({
    maximum: maxCounted,
    description: `Certificates that it issued and that have not expired, also those of its OCSP responders; counted up to ${maxCounted}.`,
  }),
  crl: Type.Optional(
    Type.Object({ number: Type.Integer(), this_update: Type.String(), next_update: Type.String() }),
  ),
  signs_crl: SignsCrl,
  crl_url: Type.Optional(Type.String()),
  ocsp_url: Type.Optional(Type.String()),
})

function formatSummary(
  services: PkiServices,
  authority: StoredAuthority,
  { crl, unexpired }: AuthorityState,
  issuer: string | undefined,
): Static<typeof AuthoritySummary> {
  const { subject, issuer: issuerName, notBefore, notAfter } = parseCertificate(authority.certificate)
  const { profiles, maxDays } = authority.settings
  const left = pathLengthLeft(authority)
  return {
    id: authority.id,
    kid: authority.keyId,
    subject: nameText(subject),
    issuer: issuer ?? null,
    issuer_name: nameText(issuerName),
    fingerprint: createHash('sha256').update(authority.certificate).digest('hex'),
    not_before: formatDate(notBefore),
    not_after: formatDate(notAfter),
    ...(left !== undefined && { path_length: left }),
    ...(profiles !== undefined && { profiles: profiles.map(profileWord) }),
    ...(maxDays !== undefined && { max_days: maxDays }),
    unexpired,
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
    const { services } = context
    const { db, roles, clock } = services
    const limit = query.limit === undefined ? maxListed : Number(query.limit)
    if (limit < 1 || limit > maxListed) throw failure('bad_request', `limit must be 1 to ${maxListed}.`)
    const caller = requirePrincipal(context)
    const all = await roles.officers.isActive(caller.name)
    if (all) context.audit(officerAccess)
    const asked = { caller, all, after: query.after ?? '', limit, now: clock.now() }
    const page = await visibleAuthorities(db, asked)
    const issuers = await findIssuers(
      db,
      page.map(([authority]) => authority),
    )
    const next = page.length < limit ? undefined : page.at(-1)?.[0].id
    return pageReply(
      page.map(([authority, state]) => formatSummary(services, authority, state, issuers.get(authority.id))),
      next,
    )
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
  }),
  errors: { 403: 'The caller has no right to read it.', 404: 'No such authority.' },
  async act(_input, context) {
    const { services } = context
    const authority = await requireAuthority(services, access.resolved(context))
    const { id, certificate, chain } = authority
    const state = await readAuthorityState(services.db, id, services.clock.now())
    const issuers = await findIssuers(services.db, [authority])
    return {
      ...formatSummary(services, authority, state, issuers.get(id)),
      certificate: certificatePem(certificate),
      chain: chain.map(certificatePem).join(''),
    }
  },
})

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
