import type { LoginMethod } from '../../login/method.ts'
import { certificateProof } from './prove.ts'
import type { CertificateServices } from './services.ts'
import { certificateSettings } from './settings.ts'

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
