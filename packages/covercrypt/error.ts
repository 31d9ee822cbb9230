/** Why something was refused here. Callers map each code to their own failures. */
export type CovercryptErrorCode =
  /** The bytes are not the object that they should be. */
  | 'malformed'
  /** The text of a policy does not follow its grammar, or a clause cannot be met. */
  | 'invalid_policy'
  /** The text or an edit of an access structure cannot be accepted. */
  | 'invalid_structure'
  /** A policy or an edit names a dimension or an attribute that the structure does not have. */
  | 'unknown_attribute'
  /** An attribute of the policy is disabled: nothing may be encrypted for it any more. */
  | 'disabled_attribute'
  /** The rights of an encryption policy do not share one security mode. */
  | 'mixed_modes'
  /** A bound of this package is exceeded. */
  | 'too_large'
  /** The user key is not one of this master key, or it was altered. */
  | 'foreign_key'
  /** The key opens no part of the ciphertext, or the ciphertext was altered: never told apart. */
  | 'cannot_open'

/** The only error that this package throws for its input. The sentence holds nothing secret and may reach the caller. */
export class CovercryptError extends Error {
  readonly code: CovercryptErrorCode
  /** Index of the item that failed, where the data hold several. */
  readonly item: number | undefined

  constructor(code: CovercryptErrorCode, sentence: string, item?: number) {
    super(sentence)
    this.name = 'CovercryptError'
    this.code = code
    this.item = item
  }
}

/** Makes an error to throw: `throw covercryptError('malformed', 'The user key ends early.')`. */
export function covercryptError(code: CovercryptErrorCode, sentence: string, item?: number): CovercryptError {
  return new CovercryptError(code, sentence, item)
}

/** Does the items in their order. @throws CovercryptError of the first one that fails, with its index */
export function eachItem<Item, Done>(items: readonly Item[], act: (item: Item) => Done): Done[] {
  return items.map((item, index) => {
    try {
      return act(item)
    } catch (error) {
      throw error instanceof CovercryptError ? covercryptError(error.code, error.message, index) : error
    }
  })
}
