import type { X509Certificate } from 'node:crypto'
import type { Database } from '@warder/foundation/sql'
import { peerCommonName } from '@warder/foundation/tls'
import { adminsBehind } from '../admins/admin-store.ts'
import { isNewUsername } from '../credentials/index.ts'
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
  const username = peerCommonName(certificate)
  if (username === undefined || !isNewUsername(username)) throw new LoginRefused('certificate_not_allowed')
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
