import {
  findAuthority,
  issue,
  openAuthority,
  openForIssuing,
  requestLike,
  withPkiFailures,
} from '@warder/authority'
import { failure } from '@warder/base'
import {
  findLinkTarget,
  keyNotFound,
  requireAllowed,
  requireCreate,
  requirePrincipal,
  UnitOfWork,
  verdictOn,
} from '@warder/keys'
import { type OperationContext, post } from '@warder/server'
import Type from 'typebox'
import { certificateRight } from './certificate-access.ts'
import { chooseDates, formatIssued, IssueReply } from './issue-certificate.ts'
import { DaysMember } from './members.ts'
import { define, type PkiServices } from './services.ts'

const access = certificateRight('rekey', 'certificate')

/** `POST /v1/pki/certificates/{id}/renew`. */
export const renewCertificate = define({
  name: 'pki.certificates.renew',
  reach: ['make certificate', 'change versions'],
  asks: ['certify'],
  route: post('/v1/pki/certificates/{id}/renew'),
  summary: 'Renew a certificate: same authority, same key, same content',
  description:
    'Requires the right rekey on the certificate and certify on the authority. The previous certificate stays valid until it expires; revoke it once it is replaced. Without days the new certificate is valid for as long as the previous one.',
  tag: 'PKI',
  access: {
    name: access.name,
    async check(input, context) {
      await access.check?.(input, context)
      await requireCreate(context)
    },
  },
  pathParameters: Type.Object({ id: Type.String() }),
  request: Type.Object({ days: Type.Optional(DaysMember) }),
  bodyOptional: true,
  reply: IssueReply,
  errors: {
    403: 'The caller has no right to replace the certificate, to certify, or to create objects.',
    404: 'No such certificate.',
    409: 'It was revoked.',
    422: 'The authority cannot issue at present.',
  },
  act: ({ body }, context) => withPkiFailures(() => renewOne(context, body?.days)),
})

const day = 86_400_000

async function renewOne(context: OperationContext<PkiServices>, days: number | undefined) {
  const { services } = context
  const { id, object, der, issued } = access.resolved(context)
  if (issued === undefined || object === undefined || der === undefined)
    throw failure('bad_request', 'This certificate was not issued by this service: renew it at its issuer.')
  if (issued.revokedAt !== undefined)
    throw failure('conflict', 'The certificate is revoked: issue another one.')
  const stored = await findAuthority(services.db, issued.authorityId)
  if (stored === undefined) throw keyNotFound()
  const now = services.clock.now()
  const objects = new UnitOfWork(services, now)
  try {
    const certificate = await objects.read(stored.id)
    if (certificate === undefined) throw keyNotFound()
    requireAllowed(
      await verdictOn(services.db, services.roles, certificate, requirePrincipal(context), 'certify'),
    )
    const authority = await openAuthority(services, objects, stored, now)
    const before = Math.max(1, Math.round((issued.notAfter - issued.notBefore) / day))
    const maxDays = Math.floor((authority.parsed.notAfter - now) / day)
    const keys = {
      publicKey: findLinkTarget(object, 'PublicKeyLink'),
      privateKey: findLinkTarget(object, 'PrivateKeyLink'),
    }
    const made = await issue(
      services,
      objects,
      authority,
      {
        ...requestLike(issued, der),
        ...chooseDates(authority, days ?? Math.min(before, Math.max(maxDays, 1)), now),
        owner: object.owner,
        by: requirePrincipal(context).name,
        isPossessionShown: issued.keyId !== undefined,
        replaces: id,
        ...(keys.publicKey !== undefined && { publicKey: keys.publicKey }),
        ...(keys.privateKey !== undefined && { privateKey: keys.privateKey }),
      },
      now,
    )
    const others = object.links.filter(({ kind }) => kind !== 'ReplacementObjectLink')
    objects.update(object, { links: [...others, { kind: 'ReplacementObjectLink', id: made.object.id }] })
    const own = await findAuthority(services.db, id)
    if (own !== undefined) {
      const chain = [authority.certificate, ...authority.chain]
      const { keyId, settings } = own
      openForIssuing(services, objects, { object: made.object, der: made.der, chain, keyId, settings }, now)
    }
    context.audit({ object: made.object.id, details: { authority: stored.id, replaces: id } })
    await objects.commit(context.commit)
    return formatIssued(authority, { id: made.object.id, ...made }, keys.privateKey)
  } finally {
    objects.clear()
  }
}
