import { type ErrorKind, Failure } from '@warder/base'

/**
 * Reasons why a cryptographic operation failed, for front ends that report more detail than the kind of a failure: the
 * code, and the error kind that the other front ends report instead.
 */
const kinds = {
  /** An algorithm, or a parameter that has no meaning for it: it is never quietly left out. */
  unsupported: 'unsupported_algorithm',
  /** Parameters that contradict each other, or the key. */
  bad_parameters: 'unsupported_algorithm',
  /** A tag of a length that the mode does not have. */
  tag_length: 'unsupported_algorithm',
  /** Data, lengths and counts that the algorithm does not accept. */
  invalid_input: 'bad_request',
  iv_length: 'bad_request',
  missing_iv: 'bad_request',
  /** The request needs more computation than one request may. */
  too_much_work: 'bad_request',
  /** The key is of another type or size. */
  wrong_key: 'crypto_failure',
  /** The operation failed; the error does not reveal which part was wrong. */
  failed: 'crypto_failure',
  /** The same, of a decryption. */
  decryption_failed: 'decryption_failed',
} as const satisfies Readonly<Record<string, ErrorKind>>

export type CryptoFailureCode = keyof typeof kinds

export class CryptoFailure extends Failure {
  readonly code: CryptoFailureCode

  constructor(code: CryptoFailureCode, sentence?: string) {
    super(kinds[code], sentence)
    this.name = 'CryptoFailure'
    this.code = code
  }
}

/** Makes a failure to throw: `throw refuse('wrong_key', 'The size of the key is not allowed for AES.')`. */
export function refuse(code: CryptoFailureCode, sentence?: string): CryptoFailure {
  return new CryptoFailure(code, sentence)
}

/** A member that is not supported, or has no meaning here. */
export function notSupported(sentence: string): CryptoFailure {
  return refuse('unsupported', sentence)
}

/** The one error of all failed decryptions: it does not reveal which part was wrong. */
export function decryptionFailed(): CryptoFailure {
  return refuse('decryption_failed')
}
