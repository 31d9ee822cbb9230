import type { Logger, Metrics } from '@warder/base'
import {
  atLeast,
  encodeResponse,
  type KmipVersion,
  type OperationName,
  type ResponseItem,
} from '@warder/kmip-codec'
import type { Principal, Tracer } from '@warder/server'
import { kmipFailure } from '../failure/failure.ts'
import { BatchData, BatchIdentifiers } from './batch-results.ts'
import type { Jobs } from './jobs.ts'
import type { KmipServices } from './services.ts'
import type { KmipCaller, KmipOperation } from './types.ts'

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
class ResponseRoom {
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

/** Options of the engine. */
export interface KmipEngineOptions {
  readonly services: KmipServices
  readonly operations: ReadonlyMap<OperationName, KmipOperation>
  readonly log: Logger
  readonly metrics: Metrics
  /** undefined = messages are not traced. */
  readonly tracer?: Tracer | undefined
}

/** State shared by the items of one message on their way through the engine. */
export interface Message {
  readonly options: KmipEngineOptions
  readonly caller: KmipCaller
  readonly principal: Principal
  readonly version: KmipVersion
  /** Size in bytes of the buffer that contains the message; a deferred request keeps all of it. */
  readonly size: number
  readonly identifiers: BatchIdentifiers
  readonly data: BatchData
  /** Number of items in the data of its batch items so far. */
  readonly dataItems: { count: number }
  /** Deferred requests of this worker. */
  readonly jobs: Jobs
  /** undefined: the client set no MaximumResponseSize. */
  readonly room: ResponseRoom | undefined
}

/** Options in the header of a message. */
interface Asked {
  readonly version: KmipVersion
  readonly size: number
  readonly maximumResponseSize: number | undefined
  readonly clientCorrelationValue: string | undefined
}

export function newMessage(
  options: KmipEngineOptions,
  jobs: Jobs,
  caller: KmipCaller,
  principal: Principal,
  asked: Asked,
): Message {
  const { maximumResponseSize } = asked
  return {
    options,
    jobs,
    caller,
    principal,
    version: asked.version,
    size: asked.size,
    identifiers: new BatchIdentifiers(),
    data: new BatchData(),
    dataItems: { count: 0 },
    room:
      maximumResponseSize === undefined
        ? undefined
        : new ResponseRoom(maximumResponseSize, {
            version: asked.version,
            clientCorrelationValue: asked.clientCorrelationValue,
            serverCorrelationValue: serverCorrelationFor(asked, caller.requestId),
          }),
  }
}

/**
 * The ServerCorrelationValue of an answer: the request's id in the log. A server may omit it (KMIP 1.4 §6.18, 2.1
 * §9.18), and must for some clients: PyKMIP 0.10.0 supports 1.4 and 2.0 but cannot read an answer that contains it.
 * Clients that send their own value can read it, and so can 2.1 clients: the published 2.1 test cases contain it in
 * answers to requests without one (BL-M-1-21).
 */
export function serverCorrelationFor(
  { version, clientCorrelationValue }: Pick<Asked, 'version' | 'clientCorrelationValue'>,
  requestId: string,
): string | undefined {
  return atLeast(version, '2.1') || clientCorrelationValue !== undefined ? requestId : undefined
}
