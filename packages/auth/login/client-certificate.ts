import type { X509Certificate } from 'node:crypto'
import type { Database } from '@warder/foundation/sql'
import { adminsBehind } from '../admins/admin-store.ts'
import { isUsername } from '../credentials/index.ts'
import { type Realm, superRealm } from '../realms/index.ts'
import type { Subject } from '../sessions/index.ts'
import { LoginRefused } from './refusal.ts'

/**
 * Who the holder of a certificate is in a realm. The chain was checked against the client CA by the TLS layer. The
 * realm lets in whom its `client_certificate_params` allow; `_` and the realms of an Admin also let in that Admin.
 * @throws LoginRefused
 */
export async function certificateSubject(
  db: Database,
  realm: Realm,
  certificate: X509Certificate,
): Promise<Subject> {
  const username = commonName(certificate)
  if (username === undefined) throw new LoginRefused('certificate_not_allowed')
  const certificateSha256 = certificate.fingerprint256.replaceAll(':', '').toLowerCase()
  const subject: Subject = {
    username,
    scheme: 'cc',
    certificateSha256,
    roles: [],
    extraClaims: undefined,
  }
  const params = realm.auth_params.client_certificate_params
  if (params !== undefined && (params.allowed_common_names?.includes(username) ?? true)) return subject
  const admins = await adminsBehind(db, { scheme: 'cc', username, certificateSha256 })
  const listed = new Set([...admins.values()].flat())
  if (listed.size > 0 && (realm.id === superRealm || listed.has(realm.id))) return subject
  throw new LoginRefused('certificate_not_allowed')
}

/**
 * The one common name of the subject, if it can be a username. `*`, NUL and other control characters, two names, and
 * anything that is written with an escape are no name.
 */
export function commonName(certificate: Pick<X509Certificate, 'subject'>): string | undefined {
  const names = certificate.subject
    .split('\n')
    .filter((line) => line.startsWith('CN='))
    .map((line) => line.slice(3))
  const [name] = names
  if (name === undefined || names.length !== 1) return undefined
  if (name === '*' || name.includes('\\') || name.startsWith('"') || !isUsername(name)) return undefined
  return name
}
