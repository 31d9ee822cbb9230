import { CodedError } from '@warder/base'

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
