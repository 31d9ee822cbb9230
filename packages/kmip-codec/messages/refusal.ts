import { CodedError } from '@warder/base'
import type { ResultReason } from '../tables/reasons.ts'

/** One item of a batch is invalid, the rest of the message is not. Caught within this folder. */
export class ItemRefusal extends CodedError<ResultReason> {
  override readonly name = 'ItemRefusal'
}
