import type { ResultReason } from '../tables/reasons.ts'

/** One item of a batch cannot be understood; the rest of the message can. Never leaves this folder. */
export class ItemRefusal extends Error {
  readonly reason: ResultReason

  constructor(reason: ResultReason, message: string) {
    super(message)
    this.name = 'ItemRefusal'
    this.reason = reason
  }
}
