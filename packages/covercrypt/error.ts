import { CodedError } from '@warder/base'

/** Codes of refusals. Callers map each code to their own errors. */
export type CovercryptErrorCode =
  /** The bytes are not the expected object. */
  | 'malformed'
  /** The text of a policy does not follow its grammar, or a clause cannot be met. */
  | 'invalid_policy'
  /** The text or an edit of an access structure cannot be accepted. */
  | 'invalid_structure'
  /** A policy or an edit names a dimension or an attribute that the structure does not have. */
  | 'unknown_attribute'
  /** An attribute of the policy is disabled: new data cannot be encrypted for it. */
  | 'disabled_attribute'
  /** The rights of an encryption policy do not share one security mode. */
  | 'mixed_modes'
  /** A bound of this package is exceeded. */
  | 'too_large'
  /** The user key does not belong to this master key, or was altered. */
  | 'foreign_key'
  /** The key has no matching right, or the ciphertext was altered: indistinguishable on purpose. */
  | 'cannot_open'

/**
 * The only error that this package throws for its input. The message contains no secret and may be sent to the
 * caller.
 */
export class CovercryptError extends CodedError<CovercryptErrorCode> {
  override readonly name = 'CovercryptError'
  /** Index of the failed item, for data with several items. */
  readonly item: number | undefined

  constructor(code: CovercryptErrorCode, sentence: string, item?: number) {
    super(code, sentence)
    this.item = item
  }
}

/** Creates an error: `throw covercryptError('malformed', 'The user key ends early.')`. */
export function covercryptError(code: CovercryptErrorCode, sentence: string, item?: number): CovercryptError {
  return new CovercryptError(code, sentence, item)
}

/** Processes the items in order. @throws CovercryptError of the first one that fails, with its index */
export function eachItem<Item, Done>(items: readonly Item[], act: (item: Item) => Done): Done[] {
  return items.map((item, index) => {
    try {
      return act(item)
    } catch (error) {
      throw error instanceof CovercryptError ? covercryptError(error.code, error.message, index) : error
    }
  })
}
