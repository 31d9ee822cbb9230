import { CodedError } from '@warder/base'
import type { OperationName } from '../tables/operations.ts'
import type { ResultReason } from '../tables/reasons.ts'
import type { KmipVersion } from '../tables/versions.ts'
import type { StructureNode, TtlvNode } from '../ttlv/node.ts'

/** One item of a batch is invalid, the rest of the message is not. Caught within this folder. */
export class ItemRefusal extends CodedError<ResultReason> {
  override readonly name = 'ItemRefusal'
}

/** Encodings of a message. */
export type Encoding = 'ttlv' | 'json' | 'xml'

/** Whether a batch continues after an item failed (KMIP 2.1 §9.6). Default: Stop. */
export type BatchErrorContinuation = 'Continue' | 'Stop' | 'Undo'

/** A request, in one form for all versions and encodings. */
export interface RequestMessage {
  /** Version of the request, also used for the response. */
  readonly version: KmipVersion
  /**
   * true: a single operation without envelope, JSON only (`{"tag":"Create",…}`); the response has the same
   * form. `items` then contains exactly one item and `header` is empty.
   */
  readonly bare: boolean
  readonly header: RequestHeader
  readonly items: readonly RequestItem[]
}

/** Header members that a server uses; absent ones are undefined. */
export interface RequestHeader {
  /** Bytes; a larger response must be replaced by ResponseTooLarge. */
  readonly maximumResponseSize: number | undefined
  readonly clientCorrelationValue: string | undefined
  readonly serverCorrelationValue: string | undefined
  /** In 1.x a Boolean: true is read as Optional, false as Prohibited. */
  readonly asynchronous: 'Mandatory' | 'Optional' | 'Prohibited' | undefined
  readonly batchErrorContinuation: BatchErrorContinuation | undefined
  /** true: the items must be processed in their order. */
  readonly batchOrder: boolean | undefined
  /** Seconds since 1970. */
  readonly timeStamp: number | undefined
  /** The Authentication structure with its Credentials, as received. */
  readonly authentication: StructureNode | undefined
}

export interface RequestItem {
  readonly operation: OperationName
  /** Returned in the response. */
  readonly uniqueBatchItemId: Uint8Array | undefined
  readonly ephemeral: boolean | undefined
  /** A RequestPayload in the form of 2.x (`legacy.ts` converts 1.x). */
  readonly payload: StructureNode
  /** MessageExtension structures, as received. An unknown critical extension must fail the item. */
  readonly extensions: readonly StructureNode[]
  /** Set when this item is invalid although the message is not: return this reason and ignore `payload`. */
  readonly refusal: ItemFailure | undefined
}

/** Why one item fails. */
export interface ItemFailure {
  readonly reason: ResultReason
  readonly message: string
}

/** A response, in one form for all versions and encodings. */
export interface ResponseMessage {
  readonly version: KmipVersion
  readonly bare: boolean
  /** Seconds since 1970. */
  readonly timeStamp: number
  /** Sent from 1.4 on. */
  readonly clientCorrelationValue?: string | undefined
  /** Sent from 1.4 on. */
  readonly serverCorrelationValue?: string | undefined
  readonly items: readonly ResponseItem[]
}

export interface ResponseItem {
  /** Absent only when the request could not be read. */
  readonly operation: OperationName | undefined
  readonly uniqueBatchItemId?: Uint8Array | undefined
  readonly status: 'Success' | 'OperationFailed' | 'OperationPending' | 'OperationUndone'
  /** In the names of 2.1; a 1.x client gets the nearest reason of its version. */
  readonly reason?: ResultReason | undefined
  readonly message?: string | undefined
  readonly asynchronousCorrelationValue?: Uint8Array | undefined
  /** Members of the ResponsePayload in the form of 2.x. */
  readonly payload?: readonly TtlvNode[] | undefined
}

/** Bounds of a request. */
export interface MessageLimits {
  /** Levels of nesting, at most 64. */
  readonly depth?: number
  /** Items of TTLV, default 65,536. */
  readonly items?: number
  /** Batch items, default 1,000. */
  readonly batchItems?: number
  /** true: KMIP 3.0 (committee draft) is a supported version. */
  readonly draft?: boolean
}

export const defaultBatchItems = 1000
