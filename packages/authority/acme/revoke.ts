import { createHash } from 'node:crypto'
import { Failure } from '@warder/base'
import { UnitOfWork } from '@warder/keys'
import {
  generalNameText,
  type ParsedCertificate,
  PkiError,
  parseCertificate,
  type RevocationReason,
  readCertificate,
} from '@warder/pki'
import { type Operation, post } from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import Type from 'typebox'
import { findAuthority } from '../authority.ts'
import type { IssuedCertificate } from '../register/register-store.ts'
import { revoke } from '../revoke.ts'
import { findBySerial } from '../status.ts'
import {
  type AcmeCaller,
  byKey,
  payloadObject,
  readCaller,
  resourceErrors,
  resourceReply,
  resourceRow,
  signedByAcme,
} from './caller.ts'
import { findByRegister } from './certificate-store.ts'
import { type AcmeEnvironment, type AcmeServices, define } from './environment.ts'
import type { Identifier } from './identifiers.ts'
import { isAuthorized } from './order-store.ts'
import { acmeProblem } from './problem.ts'

/** Reasons that a subscriber may give (RFC 5280 §5.3.1), by number. */
const reasons: ReadonlyMap<unknown, RevocationReason> = new Map([
  [0, 'unspecified'],
  [1, 'keyCompromise'],
  [3, 'affiliationChanged'],
  [4, 'superseded'],
  [5, 'cessationOfOperation'],
])
const attempts = 5

interface Named {
  readonly issued: IssuedCertificate
  readonly parsed: ParsedCertificate
}

/**
 * `POST …/revoke-cert` (RFC 8555 §7.6): signed by the account that ordered the certificate, by an account that controls
 * all its names, or with the key of the certificate.
 */
export function revokeOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...resourceRow(environment),
    name: 'acme.revoke_cert',
    reach: ['end certificate'],
    route: post('/acme/{authority}/revoke-cert'),
    summary: 'Revoke a certificate',
    access: signedByAcme,
    pathParameters: Type.Object({ authority: Type.String() }),
    errors: resourceErrors,
    authenticate: byKey(environment, ['kid', 'jwk'], async (caller, { services }) => {
      const named = await findNamedCertificate(services, caller)
      if (!caller.key.key.equals(named.parsed.key))
        throw acmeProblem('unauthorized', 'The request is not signed with the key of the certificate.')
      return named.issued.owner
    }),
    async act(_input, context) {
      const caller = readCaller(context)
      const { services } = context
      const { db, clock } = services
      const { reason: number } = payloadObject(caller)
      const reason = number === undefined ? 'unspecified' : reasons.get(number)
      if (reason === undefined) throw acmeProblem('badRevocationReason', "'reason' must be 0, 1, 3, 4 or 5.")
      await retryOnGuard(attempts, async () => {
        const named = await findNamedCertificate(services, caller)
        const { issued } = named
        context.audit({ details: { revoked: issued.id, reason } })
        if (!(await mayRevoke(services, caller, named)))
          throw acmeProblem('unauthorized', 'The certificate does not belong to this account.')
        const now = clock.now()
        const objects = new UnitOfWork(services, now)
        const object =
          issued.certificateId === undefined ? undefined : await objects.read(issued.certificateId)
        const own =
          object?.type === 'Certificate' && object.createdAt === issued.issuedAt ? object : undefined
        try {
          revoke(db, objects, { issued, object: own, der: named.parsed.der }, { reason }, now)
        } catch (error) {
          if (error instanceof Failure && error.kind === 'conflict')
            throw acmeProblem('alreadyRevoked', 'The certificate is already revoked.')
          throw error
        }
        await objects.commit(context.commit)
      })
      return resourceReply(environment, caller.urls, {})
    },
  })
}

/** The certificate in the payload, which the authority of the directory issued. @throws malformed, notFound */
async function findNamedCertificate({ db }: AcmeServices, caller: AcmeCaller): Promise<Named> {
  const { certificate } = payloadObject(caller)
  const der = typeof certificate === 'string' ? Buffer.from(certificate, 'base64url') : undefined
  if (der === undefined || der.toString('base64url') !== certificate)
    throw acmeProblem('malformed', "'certificate' is not a certificate in base64url.")
  const parsed = parseOrReject(der)
  const authority = await findAuthority(db, caller.directory.authorityId)
  const issued = authority && (await findBySerial(db, authority.issuer, parsed.serial))
  if (issued === undefined || issued.fingerprint !== createHash('sha256').update(der).digest('hex'))
    throw acmeProblem('notFound', 'The authority did not issue this certificate.')
  return { issued, parsed }
}

function parseOrReject(der: Uint8Array): ParsedCertificate {
  try {
    return parseCertificate(der)
  } catch (error) {
    if (error instanceof PkiError) throw acmeProblem('malformed', error.message)
    throw error
  }
}

async function mayRevoke(
  { db, clock }: AcmeServices,
  { account, key }: AcmeCaller,
  { issued, parsed }: Named,
): Promise<boolean> {
  if (account === undefined) return key.key.equals(parsed.key)
  if ((await findByRegister(db, issued.id))?.accountId === account.id) return true
  const names = readCertificate(parsed.der).subjectAlternativeNames.map(generalNameText)
  for (const name of names) {
    const read = parseIdentifier(name)
    if (read === undefined) return false
    const { identifier, wildcard } = read
    if (!(await isAuthorized(db, account.id, identifier, wildcard, clock.now()))) return false
  }
  return names.length > 0
}

function parseIdentifier(
  name: string,
): { readonly identifier: Identifier; readonly wildcard: boolean } | undefined {
  const [, kind, value] = /^(DNS|IP):(.+)$/.exec(name) ?? []
  if (value === undefined) return undefined
  const wildcard = value.startsWith('*.')
  const type = kind === 'IP' ? 'ip' : 'dns'
  return { identifier: { type, value: (wildcard ? value.slice(2) : value).toLowerCase() }, wildcard }
}
