import { encodeResponse, type ResponseItem } from '@warder/kmip/messages'
import type { KmipVersion } from '@warder/kmip/tables'
import { kmipFailure } from '../failure/failure.ts'

interface Form {
  readonly version: KmipVersion
  readonly clientCorrelationValue: string | undefined
  readonly serverCorrelationValue: string | undefined
}

/**
 * How much of a MaximumResponseSize (KMIP 2.1 §9.12) is left, in bytes of TTLV: JSON and XML of the same message are
 * longer, and clients of those profiles say the same numbers (KMIP Profiles 2.1, MSGENC-JSON-M-1). Asked before an item's changes are committed, so
 * that what cannot be told has not happened.
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

  /** Takes the room of an item. @throws kmipFailure ResponseTooLarge when it does not fit; then nothing is taken */
  take(item: ResponseItem): void {
    const size = this.#size([item]) - this.#empty
    if (size > this.#left) throw kmipFailure('ResponseTooLarge', 'TOO_LARGE')
    this.#left -= size
  }

  /** Gives back the room of an item that is answered otherwise after all. */
  give(item: ResponseItem): void {
    this.#left += this.#size([item]) - this.#empty
  }

  #size(items: readonly ResponseItem[]): number {
    return encodeResponse({ ...this.#form, bare: false, timeStamp: 0, items }, 'ttlv').length
  }
}
