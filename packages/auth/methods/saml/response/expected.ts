import type { KeyObject } from 'node:crypto'

/** Values that a response must match. Times are Unix seconds. */
export interface Expected {
  readonly idpEntityId: string
  /** PEM. Only these certificates are trusted. */
  readonly idpCertificates: readonly string[]
  readonly spEntityId: string
  readonly acsUrl: string
  /** ID of the AuthnRequest. */
  readonly requestId: string
  readonly now: number
  /** For encrypted assertions. */
  readonly decryptionKeys: readonly KeyObject[]
}

/** For a captured response, the request and the time are taken from the response itself. */
export interface ExpectedOnce extends Omit<Expected, 'requestId' | 'now'> {
  readonly requestId: string | undefined
  readonly now: number | undefined
}

/** Maximum clock difference in seconds. */
export const skewSeconds = 180
/** Maximum age of an assertion, from its IssueInstant. */
export const maxAssertionAgeSeconds = 300
