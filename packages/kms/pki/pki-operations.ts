import type { Operation } from '@warder/server'
import { getAuthority, listAuthorities } from './authorities.ts'
import { createAuthority } from './create-authority.ts'
import { getCertificate } from './get-certificate.ts'
import { issueCertificate } from './issue-certificate.ts'
import { listCertificates } from './list-certificates.ts'
import { crl, issuerCertificate, ocspGet, ocspPosts } from './public.ts'
import { renewCertificate } from './renew-certificate.ts'
import { renewalOperations } from './renewal.ts'
import { createRequest } from './request.ts'
import { releaseCertificate, revokeCertificate } from './revocation.ts'
import type { PkiServices } from './services.ts'

/** Bodies contain certificates and names. */
const bodyLimit = 512 * 1024

/** Certificate authorities over HTTP: the operations for their owners, and the public resources. */
export const pkiOperations: readonly Operation<PkiServices>[] = [
  createAuthority,
  listAuthorities,
  getAuthority,
  createRequest,
  issueCertificate,
  listCertificates,
  getCertificate,
  revokeCertificate,
  releaseCertificate,
  renewCertificate,
  ...renewalOperations,
  crl,
  issuerCertificate,
  ocspGet,
  ...ocspPosts,
].map((operation) => ({ bodyLimit, ...operation }))
