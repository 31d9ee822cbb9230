/**
 * An error with a code of a closed set, for programs, and a sentence, for users. Each kind of error is a class of its own, so
 * that it is caught by its class: `class PkiError extends CodedError<PkiErrorCode>`. It is in this package because codecs
 * import nothing else, and this package imports none: they stay without I/O.
 */
export class CodedError<Code extends string> extends Error {
  readonly code: Code

  constructor(code: Code, sentence: string, options?: ErrorOptions) {
    super(sentence, options)
    this.code = code
  }
}
