/** The checks of a login, in their order. Labels of metrics and words of the audit log: a closed set. */
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

/** A message of an identity provider, or a login, that is refused. The sentence goes to the browser. */
export class SamlRefused extends Error {
  readonly check: SamlCheck

  constructor(check: SamlCheck, sentence: string) {
    super(sentence)
    this.name = 'SamlRefused'
    this.check = check
  }
}

/** A failed check of the response as a document of SAML. */
export function rejectResponse(check: SamlCheck, detail: string): SamlRefused {
  return new SamlRefused(check, `rejected SAML response: ${detail}`)
}
