import type { LoginServices } from '../../login/index.ts'

export interface CertificateServices extends LoginServices {
  /** Whether client certificates are asked for in the handshake. */
  readonly asksForCertificates: boolean
}
