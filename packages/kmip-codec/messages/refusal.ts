import { CodedError } from '@warder/base'
import type { ResultReason } from '../tables/reasons.ts'

/** One item of a batch cannot be understood; the rest of the message can. Never leaves this folder. */
export class ItemRefusal extends CodedError<ResultReason> {
  override readonly name = 'ItemRefusal'
}
