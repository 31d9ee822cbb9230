import { pkiError } from '../error.ts'

/** Reasons of a revocation and their numbers (RFC 5280 §5.3.1). The number 7 is not used. */
export const revocationReasons = {
  unspecified: 0,
  keyCompromise: 1,
  cACompromise: 2,
  affiliationChanged: 3,
  superseded: 4,
  cessationOfOperation: 5,
  certificateHold: 6,
  removeFromCRL: 8,
  privilegeWithdrawn: 9,
  aACompromise: 10,
} as const
export type RevocationReason = keyof typeof revocationReasons

const byNumber: ReadonlyMap<number, RevocationReason> = new Map(
  Object.entries(revocationReasons).map(([name, number]) => [number, name as RevocationReason]),
)

/** @throws PkiError for a number that is no reason */
export function revocationReason(number: number, what: string): RevocationReason {
  const name = byNumber.get(number)
  if (name === undefined) throw pkiError('malformed', `${what} has an unknown revocation reason.`)
  return name
}
