export { createCertificateOptions, whoami } from '../http/fixtures/whoami.ts'
export type { ServiceServerOptions } from '../http/options.ts'
export { createSignature } from '../jwt/algorithms.ts'
export { ec } from '../jwt/fixtures/tokens.ts'
export { readKeySet } from '../jwt/key-sets.ts'
export { effects } from '../operations/reach.ts'
export {
  type AccessRow,
  accessTable,
  type ToleranceRow,
  toleranceTable,
} from '../operations/testing/access-table.ts'
export { requestsWithText } from '../operations/testing/text-walk.ts'
export { createHeldClock, day, issue, newFolder, writeFiles } from '../tls/fixtures/certificates.ts'
export { renegotiate } from '../tls/fixtures/renegotiation.ts'
export type { IssuedCertificate, Issuer } from '../tls/local-authority.ts'
