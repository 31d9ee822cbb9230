import type { X509Certificate } from 'node:crypto'
import { Failure } from '@warder/base'
import { type IncomingRequest, readPeerCommonName } from '@warder/server'
import type { Database } from '@warder/storage'
import Type from 'typebox'
import { adminsBehind } from '../admins/admin-store.ts'
import type { Subject } from '../claims.ts'
import {
  credentialChanged,
  firstProof,
  type LoginMethod,
  LoginRefused,
  type LoginServices,
  unknownRealm,
} from '../login/method.ts'
import { methodSettings, nullable, type Realm, superRealm } from '../realms/realm.ts'
import { realmExists } from '../realms/realm-store.ts'
import { isNewUsername } from '../texts.ts'

/** The client certificates that a realm accepts; without a list, every certificate that the client CA signed. */
const certificateSettings = methodSettings(
  'client_certificate_params',
  Type.Object({
    allowed_common_names: nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 10_000 }),
    ),
  }),
)

/** A login without an `Authorization` header. */
const certificateProof = firstProof<CertificateServices, 'certificate'>({
  takes: 'certificate',
  async prove({ services, request }, { realm }) {
    const certificate = readVerifiedCertificate(request)
    if (certificate === undefined) throw new LoginRefused('no_credentials')
    // The connection was opened while the certificate was valid, and may stay open longer.
    if (certificate.validToDate.getTime() < services.now() * 1000)
      throw new LoginRefused('certificate_not_verified')
    if (realm === undefined) throw unknownRealm()
    return {
      realm,
      subject: await certificateSubject(services.db, realm, certificate),
      proofs: [{ guard: realmExists(realm.id), createRefusal: credentialChanged }],
    }
  },
})

/** Reads the client certificate. An invalid one gets the same answer as every wrong credential. @throws LoginRefused */
function readVerifiedCertificate(request: IncomingRequest): X509Certificate | undefined {
  try {
    return request.peerCertificate()
  } catch (error) {
    if (error instanceof Failure && error.kind === 'unauthorized')
      throw new LoginRefused('certificate_not_verified')
    throw error
  }
}

/**
 * Identifies the holder of a certificate in a realm. The TLS layer has validated the chain against the client CA. The
 * realm admits the holders that its `client_certificate_params` allow; `_` and the realms of an Admin also admit that
 * Admin.
 * @throws LoginRefused
 */
async function certificateSubject(
  db: Database,
  realm: Realm,
  certificate: X509Certificate,
): Promise<Subject> {
  const username = readPeerCommonName(certificate)
  if (username === undefined || !isNewUsername(username)) throw new LoginRefused('certificate_not_allowed')
  const certificateSha256 = certificate.fingerprint256.replaceAll(':', '').toLowerCase()
  const subject: Subject = {
    username,
    scheme: 'cc',
    certificateSha256,
    roles: [],
    extraClaims: undefined,
  }
  const settings = certificateSettings.of(realm)
  if (settings !== undefined && (settings.allowed_common_names?.includes(username) ?? true)) return subject
  const admins = await adminsBehind(db, { scheme: 'cc', username, certificateSha256 })
  const listed = new Set([...admins.values()].flat())
  if (listed.size > 0 && (realm.id === superRealm || listed.has(realm.id))) return subject
  throw new LoginRefused('certificate_not_allowed')
}

/** The client certificate of the TLS connection. */
export const certificate: LoginMethod<CertificateServices> = {
  name: 'certificate',
  scheme: 'cc',
  settings: certificateSettings,
  vouches: true,
  first: certificateProof,
  // Admins that name a certificate allow its login, whatever the realm allows.
  opens: (services) => services.asksForCertificates,
  operations: () => [],
}

export interface CertificateServices extends LoginServices {
  /** Whether the TLS handshake requests client certificates. */
  readonly asksForCertificates: boolean
}
