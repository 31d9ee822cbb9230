import type { KeyObject } from 'node:crypto'

/** Values that a response must match. Times are Unix seconds. */
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

/** For a response that was captured, the request and the time are what the response itself says. */
export interface ExpectedOnce extends Omit<Expected, 'requestId' | 'now'> {
  readonly requestId: string | undefined
  readonly now: number | undefined
}

/** Clocks may differ by so much. */
export const skewSeconds = 180
/** From its IssueInstant. */
export const maxAssertionAgeSeconds = 300
