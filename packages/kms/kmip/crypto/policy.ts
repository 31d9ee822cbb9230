import { unsupported } from './refusal.ts'

/** What this server is set to do; asked by every function that chooses an algorithm. */
export interface CryptoPolicy {
  /** true: only what FIPS builds do. */
  readonly fips: boolean
  /** true: 3DES for clients that know nothing else (SP 800-131A: disallowed since 2024). Never together with `fips`. */
  readonly tripleDes: boolean
}

/** @throws UnsupportedCryptographicParameters in FIPS mode */
export function requireOutsideFips(policy: CryptoPolicy, what: string): void {
  if (policy.fips) throw unsupported(`${what} is not available in FIPS mode.`)
}
