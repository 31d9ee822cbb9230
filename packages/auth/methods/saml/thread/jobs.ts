import type { Assertion } from '../response/assertion.ts'
import type { ExpectedOnce } from '../response/expected.ts'
import type { SamlCheck } from '../response/saml-refused.ts'

/**
 * A response to validate. `field` is the value of the form field as it was sent, percent-encoded; it is transferred
 * to the thread.
 */
export interface Job {
  readonly field: Uint8Array<ArrayBuffer>
  readonly expected: ExpectedOnce
}

export type ValidationResult =
  | { readonly assertion: Assertion }
  | { readonly refused: { readonly check: SamlCheck; readonly sentence: string } }

export interface ToThread {
  readonly id: number
  readonly job: Job
}
/** Without result: the thread failed unexpectedly. */
export interface FromThread {
  readonly id: number
  readonly result?: ValidationResult
  readonly problem?: string
}
