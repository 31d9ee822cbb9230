import type { KeyObject } from 'node:crypto'

/** What a response has to fit. Times are Unix seconds. */
export interface Expected {
  readonly idpEntityId: string
  /** PEM. Only these count. */
  readonly idpCertificates: readonly string[]
  readonly spEntityId: string
  readonly acsUrl: string
  /** ID of the AuthnRequest. */
  readonly requestId: string
  readonly now: number
  /** For encrypted assertions. */
  readonly decryptionKeys: readonly KeyObject[]
}

/** Clocks may differ by so much. */
export const skewSeconds = 180
/** From its IssueInstant. */
export const longestAssertionAge = 300
