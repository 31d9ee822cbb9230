import { notSupported } from './failure.ts'
import { type AlgorithmPolicy, type PolicyFacts, requirePermitted } from './policy.ts'

/** @throws CryptoFailure unsupported in FIPS mode */
export function requireOutsideFips(policy: AlgorithmPolicy, what: string): void {
  if (policy.fips) throw notSupported(`${what} is not available in FIPS mode.`)
}

/** Is there anything to ask the policy? Without lists there is not: the hot path makes no facts then. */
export function permit(policy: AlgorithmPolicy, facts: () => PolicyFacts): void {
  if (policy.lists !== undefined) requirePermitted(policy, facts())
}
