import { publicAccess } from '@warder/keys'
import { get, type Operation, rawReply } from '@warder/server'
import Type from 'typebox'
import { findIssued, type IssuedCertificate } from '../../register/register-store.ts'
import { findAuthority } from '../../signing/authority.ts'
import { acmeProblem } from '../protocol/problem.ts'
import { type AcmeServices, define } from '../protocol/services.ts'
import { directoryAt } from '../request/caller.ts'
import type { AcmeEnvironment } from '../request/environment.ts'
import { resourceRow } from '../request/row.ts'
import { registerEntryNamed } from '../stored/certificate-id.ts'

/** Polling interval of clients (RFC 9773 §4.3). */
const askAgainSeconds = 21_600
const hour = 3_600_000

/** Suggested renewal window of a certificate. Unix milliseconds. */
function renewalWindow({
  notBefore,
  notAfter,
  revokedAt,
}: Pick<IssuedCertificate, 'notBefore' | 'notAfter' | 'revokedAt'>): {
  readonly start: number
  readonly end: number
} {
  // RFC 9773 §4.2: a window in the past means now.
  if (revokedAt !== undefined) return { start: revokedAt - 2 * hour, end: revokedAt - hour }
  const lifetime = notAfter - notBefore
  // The window begins after two thirds of the lifetime and lasts a twelfth of it. Clients choose a random time in it,
  // which spreads their requests.
  const start = notBefore + Math.floor((lifetime * 2) / 3)
  return { start, end: start + Math.floor(lifetime / 12) }
}

/** `GET …/renewal-info/{certificate}` (RFC 9773 §4). */
export function renewalInfoOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...resourceRow(environment),
    security: [],
    name: 'acme.renewal_info',
    reach: ['reveal public'],
    route: get('/acme/{authority}/renewal-info/{certificate}'),
    summary: 'Suggested time to renew a certificate',
    access: publicAccess,
    audited: false,
    pathParameters: Type.Object({ authority: Type.String(), certificate: Type.String({ maxLength: 256 }) }),
    errors: { 404: 'The authority did not issue this certificate.' },
    async act({ path }, { request, services }) {
      const { db } = services
      const { directory } = await directoryAt(environment, request)
      const authority = await findAuthority(db, directory.authorityId)
      const entry = authority && registerEntryNamed(authority, path.certificate)
      const issued = entry === undefined ? undefined : await findIssued(db, entry)
      if (issued === undefined) throw acmeProblem('notFound', 'The authority did not issue this certificate.')
      const { start, end } = renewalWindow(issued)
      return rawReply({
        json: {
          suggestedWindow: { start: new Date(start).toISOString(), end: new Date(end).toISOString() },
        },
        headers: { 'Retry-After': String(askAgainSeconds) },
      })
    },
  })
}
