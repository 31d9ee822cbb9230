import type { LoginServices } from '../../login/index.ts'

export interface CertificateServices extends LoginServices {
  /** Whether the TLS handshake requests client certificates. */
  readonly asksForCertificates: boolean
}
