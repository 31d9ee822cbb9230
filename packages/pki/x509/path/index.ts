/** Building and validation of certification paths (RFC 5280 §6) with given certificates, CRLs and OCSP responses. */
export { findNameProblem } from './constraints.ts'
export type { PolicyWish } from './policies.ts'
export type { RevocationSources, RevocationStatus } from './revocation.ts'
export {
  maxCertificates,
  maxSignatures,
  type PathQuestion,
  type PathResult,
  validatePath,
} from './validate.ts'
