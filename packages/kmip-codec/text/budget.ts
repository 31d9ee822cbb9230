import { KmipDecodeError } from '../ttlv/error.ts'
import { type DecodeLimits, maximumDepth, maximumItems } from '../ttlv/node.ts'

/** Counts the items of one message and the levels of its nesting; one for each message that is decoded. */
export class Budget {
  readonly depth: number
  #itemsLeft: number

  constructor(limits: DecodeLimits) {
    this.depth = Math.min(limits.depth ?? maximumDepth, maximumDepth)
    this.#itemsLeft = limits.items ?? maximumItems
  }

  /** Refuses a list that is longer than what is left, before anything is made of it. */
  refuseBeyond(items: number): void {
    if (items > this.#itemsLeft)
      throw new KmipDecodeError('too_many_items', 'The message holds too many items.')
  }

  /** Call for every item. @throws KmipDecodeError `too_deep` or `too_many_items` */
  take(depth: number): void {
    if (depth > this.depth) throw new KmipDecodeError('too_deep', 'The message is nested too deep.')
    this.#itemsLeft -= 1
    if (this.#itemsLeft < 0) throw new KmipDecodeError('too_many_items', 'The message holds too many items.')
  }
}
