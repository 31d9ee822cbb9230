import { CodedError } from '@warder/base'

/** Error codes. Callers map each code to their own errors. */
export type PkiErrorCode =
  /** The bytes are not the expected structure. */
  | 'malformed'
  /** A text or number cannot be encoded in a structure. */
  | 'invalid_value'
  /** The numbers of a key contradict each other or are out of range. */
  | 'invalid_key'
  /** The algorithm, the curve or the size of a key is not supported, or the policy excludes it. */
  | 'unsupported_key'
  /** The algorithm that protects a key or a file is not supported. */
  | 'unsupported_protection'
  | 'wrong_password'
  /** The certificate request cannot be read, or its signature does not verify. */
  | 'invalid_request'
  /** The key of the issuer cannot sign, or signing failed. */
  | 'cannot_sign'

/**
 * The only error that this package throws for its input. The message contains no secret and may be sent to the
 * caller.
 */
export class PkiError extends CodedError<PkiErrorCode> {
  override readonly name = 'PkiError'
}

/** Creates an error: `throw pkiError('malformed', 'The certificate is not well-formed DER.')`. */
export function pkiError(code: PkiErrorCode, sentence: string): PkiError {
  return new PkiError(code, sentence)
}
