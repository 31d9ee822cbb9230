import type { X509Certificate } from 'node:crypto'
import type { CreationRules, Key, ManagedObject, Right, UnitOfWork } from '@warder/keys'
import type {
  Encoding,
  KmipVersion,
  OperationName,
  ResponseItem,
  StructureNode,
  TtlvNode,
} from '@warder/kmip-codec'
import type { AuditFields, Effect, Principal } from '@warder/server'
import type { Fields } from '../payloads/payload.ts'
import type { Jobs } from './jobs.ts'
import type { KmipServices } from './services.ts'

/** One row of the operation table: everything that the engine needs to know about an operation. */
export interface KmipOperation {
  readonly name: OperationName
  readonly access: KmipAccess
  /** The effects that it can have on objects when all required rights are granted; empty: none. */
  readonly reach: readonly Effect[]
  /** Rights on objects that it asks for besides that of `access`, at least for some requests. */
  readonly asks?: readonly Right[] | undefined
  /** The members of the RequestPayload in the form of 2.x. */
  readonly request: { readonly fields: Fields }
  /** The members of the ResponsePayload in the form of 2.x. */
  readonly reply: { readonly fields: Fields }
  /**
   * Decodes a RequestPayload, executes the operation and encodes the members of its ResponsePayload.
   * @throws kmipFailure, any Failure of the registry, KmipDecodeError
   */
  act(payload: StructureNode, context: KmipContext): Promise<KmipAnswer>
}

/** Answer of an operation: the members of its payload, or (Poll alone) the whole item. */
export type KmipAnswer = readonly TtlvNode[] | WholeAnswer

/** An item whose answer has the name of another operation, or another status than success. */
export class WholeAnswer {
  readonly item: Partial<ResponseItem>

  constructor(item: Partial<ResponseItem>) {
    this.item = item
  }
}

/** Access rule of an operation; made by the functions of `operation.ts`. The engine checks it before `act`. */
export type KmipAccess =
  /** All authenticated callers. The operation gets its objects with `context.permitted`. */
  | { readonly kind: 'signed in' }
  /** Requires the right to create objects. */
  | { readonly kind: 'create' }
  /** Requires `right` on the object that a member of the payload names (or the ID placeholder). */
  | {
      readonly kind: 'object'
      readonly right: Right
      /** Tag of the member that names it. */
      readonly member: number
      /** true: the decrypted key is needed too (`context.key`). */
      readonly key: boolean
      /** true: also requires the right to create. */
      readonly creates: boolean
    }

/** Items in the data of an operation (bulk data of attribute-based encryption). */
export interface AuditedItems {
  readonly count: number
  /** Index of the failed item; if there is one, no item is answered. */
  readonly failed?: number | undefined
  /** Policies of the items, in their order. */
  readonly policies?: readonly string[]
}

/** Context of an operation; one for each batch item. */
export interface KmipContext {
  readonly services: KmipServices
  readonly principal: Principal
  /** Version of the client. Payloads are in the form of 2.x all the same. */
  readonly version: KmipVersion
  /** Unix milliseconds: one moment for the whole item. */
  readonly now: number
  /** Objects with the staged changes of this message. */
  readonly objects: UnitOfWork
  /** The object of an `objectRight` or `keyUse` row, rights checked. Reading it in another row is an error. */
  readonly object: ManagedObject
  /** The decrypted key of a `keyUse` row. */
  readonly key: Key
  /** true: the client named one version of a key (`name@first`), so only that version is used. */
  readonly isVersionNamed: boolean
  /** Continues with another version of the key, on which the caller has the same rights. */
  use(version: Key): void
  /** Deferred requests of this worker. */
  readonly jobs: Jobs
  /** The caller's rules for new objects; read with the right to create, empty without it. */
  readonly rules: CreationRules
  /** The ID placeholder of the batch (KMIP 2.1 §6.1): read by the engine, set by operations that make or find objects. */
  placeholder: string | undefined
  /**
   * Another object that the request names (a wrapping key, a part of a split key), if the caller has `right` on it.
   * @throws kmipFailure ObjectNotFound for an unknown object or one on which the caller has no rights, PermissionDenied
   *   when the caller has only other rights on it
   */
  permitted(id: string, right: Right): Promise<ManagedObject>
  /** As `permitted`, with the decrypted key. */
  permittedKey(id: string, right: Right): Promise<Key>
  /** Whether the caller has `right`, too, on an object that it was permitted for another one. */
  holds(object: ManagedObject, right: Right): Promise<boolean>
  /** @throws kmipFailure PermissionDenied unless the caller may create objects */
  requireCreate(): Promise<void>
  /** Resolves a UniqueIdentifier node: text, the placeholder, or a result of this batch. */
  identifier(node: TtlvNode | undefined): string
  /** Adds to the audit record of this item. Never secrets. */
  audit(fields: AuditFields): void
  /**
   * Sets the number of items in the data of this batch item, each with its own audit record. May be called again to add
   * details.
   * @throws kmipFailure ServerLimitExceeded when the data of the message hold too many
   */
  auditItems(items: AuditedItems): void
}

/** Sender of a message, identified by the transport. */
export interface KmipCaller {
  /** true: the message has no HTTP request, so it starts its own trace. */
  readonly beginsTrace?: boolean
  /** undefined: not authenticated; only credentials in the header can authenticate the message. */
  readonly principal: Principal | undefined
  readonly clientAddress: string
  readonly requestId: string
  /** The client certificate of the connection. */
  readonly certificate?: X509Certificate | undefined
  /** true: the caller reads bare answers in the form of `encodeJsonForFetch`. */
  readonly fetchForm?: boolean
}

export interface KmipAnswerOptions {
  /** The version of bare operations (JSON): `1.4` at `/kmip/1_4`, `2.1` at `/kmip/2_1`. Absent: none is read. */
  readonly bareVersion?: KmipVersion
}

/** The interface between both transports and the engine: request messages in, response messages out. */
export interface KmipEngine {
  /**
   * Decodes a message, executes it and encodes the answer. Errors of the message are in the answer.
   * @throws Failure for a bare operation that fails, with `result_reason` among its members; there are no
   *   other errors
   */
  answer(
    bytes: Uint8Array,
    encoding: Encoding,
    caller: KmipCaller,
    options?: KmipAnswerOptions,
  ): Promise<Uint8Array>
  /** Deferred requests that are not done. */
  readonly unfinished: number
}
