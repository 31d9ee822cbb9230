import type { KeyObject } from 'node:crypto'
import { CodedError } from '@warder/base'

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

/** The checks of a login, in their order. A closed set: they are labels of metrics and values in the audit log. */
export const samlChecks = [
  'browser',
  'request',
  'encoding',
  'xml',
  'signature',
  'encryption',
  'destination',
  'in_response_to',
  'issuer',
  'status',
  'assertion',
  'subject_confirmation',
  'conditions',
  'audience',
  'authn_statement',
  'age',
  'replay',
  'subject',
  'attributes',
  'realm',
] as const

export type SamlCheck = (typeof samlChecks)[number]

/** A refused message of an identity provider, or a refused login. The browser shows the message. */
export class SamlRefused extends CodedError<SamlCheck> {
  override readonly name = 'SamlRefused'
}

/** A failed check of the SAML response document. */
export function rejectResponse(check: SamlCheck, detail: string): SamlRefused {
  return new SamlRefused(check, `rejected SAML response: ${detail}`)
}
