import type { LoginServices } from '../../login/services.ts'

export interface CertificateServices extends LoginServices {
  /** Whether the TLS handshake requests client certificates. */
  readonly asksForCertificates: boolean
}
