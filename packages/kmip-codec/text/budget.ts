import { KmipDecodeError } from '../ttlv/error.ts'
import { type DecodeLimits, maximumDepth, maximumItems } from '../ttlv/node.ts'

/** Counts items and nesting levels of one message during its decoding. */
export class Budget {
  readonly depth: number
  #itemsLeft: number

  constructor(limits: DecodeLimits) {
    this.depth = Math.min(limits.depth ?? maximumDepth, maximumDepth)
    this.#itemsLeft = limits.items ?? maximumItems
  }

  /** Refuses a list that exceeds the remaining budget, before it is decoded. */
  refuseBeyond(items: number): void {
    if (items > this.#itemsLeft)
      throw new KmipDecodeError('too_many_items', 'The message contains too many items.')
  }

  /** Called for every item. @throws KmipDecodeError `too_deep` or `too_many_items` */
  take(depth: number): void {
    if (depth > this.depth) throw new KmipDecodeError('too_deep', 'The message is nested too deep.')
    this.#itemsLeft -= 1
    if (this.#itemsLeft < 0)
      throw new KmipDecodeError('too_many_items', 'The message contains too many items.')
  }
}
