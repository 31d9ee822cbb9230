import type { KmipVersion } from '@warder/kmip-codec'
import { encodeResponse, type ResponseItem } from '@warder/kmip-codec'
import { kmipFailure } from '../failure/failure.ts'

interface Form {
  readonly version: KmipVersion
  readonly clientCorrelationValue: string | undefined
  readonly serverCorrelationValue: string | undefined
}

/**
 * Remaining part of a MaximumResponseSize (KMIP 2.1 §9.12), in bytes of TTLV: the same message is longer in JSON and
 * XML, and clients of those profiles send the same numbers (KMIP Profiles 2.1, MSGENC-JSON-M-1). It is checked before
 * an item's changes are committed, so that a change without room for its answer is not made.
 */
export class ResponseRoom {
  readonly #form: Form
  readonly #empty: number
  #left: number

  constructor(maximum: number, form: Form) {
    this.#form = form
    this.#empty = this.#size([])
    this.#left = maximum - this.#empty
  }

  /**
   * Reserves the size of an answer.
   * @throws kmipFailure ResponseTooLarge when it does not fit; then nothing is reserved
   */
  take(item: ResponseItem): void {
    const size = this.#size([item]) - this.#empty
    if (size > this.#left) throw kmipFailure('ResponseTooLarge', 'TOO_LARGE')
    this.#left -= size
  }

  /** Releases the size of an answer that is replaced by another one. */
  give(item: ResponseItem): void {
    this.#left += this.#size([item]) - this.#empty
  }

  #size(items: readonly ResponseItem[]): number {
    return encodeResponse({ ...this.#form, bare: false, timeStamp: 0, items }, 'ttlv').length
  }
}
