import { findIssued, type IssuedCertificate, release, revoke } from '@warder/authority'
import { failure } from '@warder/base'
import { UnitOfWork } from '@warder/keys'
import { type RevocationReason, revocationReasons } from '@warder/pki'
import { type OperationContext, post } from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import Type, { type Static } from 'typebox'
import {
  certificateRight,
  type FoundCertificate,
  type RightHolder,
  requirePermittedCertificate,
} from './certificate-access.ts'
import { formatListed, RegisteredCertificate } from './certificate-shape.ts'
import { parseDate } from './members.ts'
import { define, type PkiServices } from './services.ts'

const access = certificateRight('revoke')
/** The holder may not release it: the authority placed the hold, and relying parties trust it (RFC 5280 §5.3.1). */
const releaseAccess = certificateRight('revoke', 'authority')
const attempts = 10

const common = {
  tag: 'PKI',
  access,
  pathParameters: Type.Object({ id: Type.String() }),
  reply: RegisteredCertificate,
} as const

const RevokeBody = Type.Object({
  reason: Type.Optional(
    Type.Enum(Object.keys(revocationReasons) as RevocationReason[], {
      description: 'RFC 5280 §5.3.1; absent: unspecified. Only certificateHold can be lifted, by release.',
    }),
  ),
  invalidity_date: Type.Optional(
    Type.String({ maxLength: 40, description: 'Time since which the key is not trusted.' }),
  ),
})

/** `POST /v1/pki/certificates/{id}/revoke`. */
export const revokeCertificate = define({
  ...common,
  name: 'pki.certificates.revoke',
  reach: ['end certificate'],
  route: post('/v1/pki/certificates/{id}/revoke'),
  summary: 'Revoke a certificate',
  description: 'OCSP shows it at once, the revocation list within seconds.',
  request: RevokeBody,
  bodyOptional: true,
  errors: {
    403: 'The caller has no right to revoke it.',
    404: 'No such certificate.',
    409: 'It is already revoked.',
  },
  act: ({ body }, context) => {
    const wanted = readRevocation(body)
    return changeRevocation(context, 'either', wanted.reason, (objects, issued, { object, der }, now) =>
      revoke(context.services.db, objects, { issued, object, der }, wanted, now),
    )
  },
})

/** `POST /v1/pki/certificates/{id}/release`. */
export const releaseCertificate = define({
  ...common,
  name: 'pki.certificates.release',
  reach: ['change state'],
  route: post('/v1/pki/certificates/{id}/release'),
  summary: 'Release a certificate from hold',
  description:
    'Requires the right revoke on the issuing authority: the holder of the certificate cannot lift the hold.',
  access: releaseAccess,
  errors: {
    403: 'The caller has no right revoke on the authority.',
    404: 'No such certificate.',
    409: 'It is not on hold.',
  },
  act: (_input, context) =>
    changeRevocation(context, 'authority', 'release', (objects, issued, _found, now) =>
      release(context.services.db, objects, issued, now),
    ),
})

function readRevocation(body: Static<typeof RevokeBody> | undefined) {
  const { reason = 'unspecified', invalidity_date: date } = body ?? {}
  return { reason, ...(date !== undefined && { invalidityAt: parseDate(date, 'invalidity_date') }) }
}

/** Reads, changes and commits an entry, and retries after a concurrent change. Each attempt checks the right. */
async function changeRevocation(
  context: OperationContext<PkiServices>,
  on: RightHolder,
  what: string,
  stage: (objects: UnitOfWork, issued: IssuedCertificate, found: FoundCertificate, now: number) => void,
): Promise<Static<typeof RegisteredCertificate>> {
  const { services } = context
  const { id } = (on === 'authority' ? releaseAccess : access).resolved(context)
  return retryOnGuard(attempts, async () => {
    const now = services.clock.now()
    const found = await requirePermittedCertificate(context, id, 'revoke', on)
    const { issued } = found
    if (issued === undefined)
      throw failure(
        'bad_request',
        'This certificate was not issued by this service: only its issuer can revoke it. KMIP Revoke deactivates its object.',
      )
    context.audit({
      details: { authority: issued.authorityId, subject: issued.subject, reason: what },
    })
    const objects = new UnitOfWork(services, now)
    stage(objects, issued, found, now)
    await objects.commit(context.commit)
    return formatListed((await findIssued(services.db, issued.id)) ?? issued, now)
  })
}
