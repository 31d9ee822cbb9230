import { isDraftValue } from '../tables/draft.ts'
import { Enumeration } from '../tables/enumerations.gen.ts'
import { valueName } from '../tables/enumerations.ts'
import { type OperationName, operationByName, operationIn } from '../tables/operations.ts'
import type { ResultReason } from '../tables/reasons.ts'
import { Tag } from '../tables/tags.gen.ts'
import { draftVersion, isLegacy, type KmipVersion, kmipVersion } from '../tables/versions.ts'
import { type KmipDecodeCode, KmipDecodeError, type SeenVersion } from '../ttlv/error.ts'
import {
  findMembers,
  optional,
  optionalName,
  optionalStructure,
  requireMember,
  requireStructure,
  requireType,
} from '../ttlv/members.ts'
import { type StructureNode, structure, type TtlvNode } from '../ttlv/node.ts'
import { fromLegacy } from './legacy.ts'
import {
  defaultBatchItems,
  type ItemFailure,
  ItemRefusal,
  type MessageLimits,
  type RequestHeader,
  type RequestItem,
  type RequestMessage,
} from './types.ts'
import { fromVersion3, refuseReserved } from './version3.ts'

const reasons: Readonly<Partial<Record<KmipDecodeCode, ResultReason>>> = {
  missing_member: 'MissingData',
  repeated_member: 'InvalidField',
  wrong_member: 'InvalidField',
  invalid_value: 'InvalidField',
  unknown_enumeration: 'InvalidField',
}

/** The result reason of an item whose payload could not be decoded: InvalidMessage for a wrong structure. */
export function toResultReason(error: KmipDecodeError): ResultReason {
  return reasons[error.code] ?? 'InvalidMessage'
}

/**
 * Decodes a RequestMessage node (KMIP 2.1 §8). The whole header must be valid; an error inside a batch item
 * becomes the `refusal` of that item. @throws KmipDecodeError when it is not a request, has another version
 * (`unsupported_version`), or BatchCount differs from the number of items; with `version` if that could be
 * read
 */
export function readRequest(node: TtlvNode, limits: MessageLimits = {}): RequestMessage {
  if (node.tag !== Tag.RequestMessage || node.type !== 'Structure')
    throw new KmipDecodeError('wrong_member', 'The message is not a RequestMessage.')
  const headerNode = requireStructure(node, Tag.RequestHeader)
  const seen = seenVersion(headerNode)
  const version = kmipVersion(seen.major, seen.minor, limits.draft)
  if (version === undefined)
    throw new KmipDecodeError('unsupported_version', 'This protocol version is not supported.', seen)
  try {
    const items = findMembers(node, Tag.BatchItem)
    if (version === draftVersion) asDecodeError(() => refuseReserved(headerNode.value))
    const header = readHeader(headerNode)
    const count = readCount(version, headerNode, items.length)
    if (count > (limits.batchItems ?? defaultBatchItems))
      throw new KmipDecodeError('too_many_items', 'The batch contains too many items.')
    return {
      version,
      bare: false,
      header,
      items: items.map((item) => readItem(version, requireType(item, 'Structure'))),
    }
  } catch (error) {
    if (error instanceof KmipDecodeError) throw new KmipDecodeError(error.code, error.message, seen)
    throw error
  }
}

/** 3.0 does not count its batch items. */
function readCount(version: KmipVersion, header: StructureNode, items: number): number {
  if (version === draftVersion) {
    if (items === 0) throw new KmipDecodeError('missing_member', 'BatchItem is missing.')
    return items
  }
  const count = requireMember(header, Tag.BatchCount, 'Integer')
  if (count !== items || count === 0)
    throw new KmipDecodeError('wrong_member', 'BatchCount differs from the number of batch items.')
  return count
}

/** A bare operation is a payload without an envelope, always one item. */
export function bareRequest(
  version: KmipVersion,
  operation: OperationName,
  payload: StructureNode,
): RequestMessage {
  return { version, bare: true, header: emptyHeader, items: [toBatchItem(version, operation, payload, {})] }
}

/** A header that contains only its version. */
export const emptyHeader: RequestHeader = {
  maximumResponseSize: undefined,
  clientCorrelationValue: undefined,
  serverCorrelationValue: undefined,
  asynchronous: undefined,
  batchErrorContinuation: undefined,
  batchOrder: undefined,
  timeStamp: undefined,
  authentication: undefined,
}

/** The two numbers in the ProtocolVersion of a header. */
export function seenVersion(header: StructureNode): SeenVersion {
  const version = requireStructure(header, Tag.ProtocolVersion)
  return {
    major: requireMember(version, Tag.ProtocolVersionMajor, 'Integer'),
    minor: requireMember(version, Tag.ProtocolVersionMinor, 'Integer'),
  }
}

function readHeader(header: StructureNode): RequestHeader {
  return {
    maximumResponseSize: optional(header, Tag.MaximumResponseSize, 'Integer'),
    clientCorrelationValue: optional(header, Tag.ClientCorrelationValue, 'TextString'),
    serverCorrelationValue: optional(header, Tag.ServerCorrelationValue, 'TextString'),
    asynchronous: readAsynchronous(header),
    batchErrorContinuation: optionalName(
      header,
      Tag.BatchErrorContinuationOption,
      'BatchErrorContinuationOption',
    ),
    batchOrder: optional(header, Tag.BatchOrderOption, 'Boolean'),
    timeStamp: optional(header, Tag.TimeStamp, 'DateTime'),
    authentication: optionalStructure(header, Tag.Authentication),
  }
}

/** A Boolean in 1.x, an Enumeration in 2.x. */
function readAsynchronous(header: StructureNode): RequestHeader['asynchronous'] {
  const [indicator] = findMembers(header, Tag.AsynchronousIndicator)
  if (indicator?.type === 'Boolean') return indicator.value ? 'Optional' : 'Prohibited'
  return optionalName(header, Tag.AsynchronousIndicator, 'AsynchronousIndicator')
}

interface ItemFrame {
  readonly uniqueBatchItemId?: Uint8Array | undefined
  readonly ephemeral?: boolean | undefined
  readonly extensions?: readonly StructureNode[]
}

function readItem(version: KmipVersion, item: StructureNode): RequestItem {
  if (version === draftVersion) asDecodeError(() => refuseReserved(item.value))
  const code = requireMember(item, Tag.Operation, 'Enumeration')
  const frame: ItemFrame = {
    uniqueBatchItemId: optional(item, Tag.UniqueBatchItemID, 'ByteString'),
    ephemeral: readEphemeral(version, item),
    extensions: findMembers(item, Tag.MessageExtension).map((extension) =>
      requireType(extension, 'Structure'),
    ),
  }
  const operation = valueName('Operation', code)
  if (operation === undefined || isHidden(version, operation))
    throw new KmipDecodeError('unknown_operation', 'An operation is not in the standard.')
  return toBatchItem(version, operation, optionalStructure(item, Tag.RequestPayload) ?? noPayload, frame)
}

/** Whether the version does not even know the name of the operation, because only the draft has it. */
function isHidden(version: KmipVersion, operation: OperationName): boolean {
  return version !== draftVersion && isDraftValue('Operation', Enumeration.Operation[operation])
}

/** A Boolean in 2.x; in 3.0 an Enumeration, of which Data has the same meaning. */
function readEphemeral(version: KmipVersion, item: StructureNode): boolean | undefined {
  if (version !== draftVersion) return optional(item, Tag.Ephemeral, 'Boolean')
  const name = optionalName(item, Tag.Ephemeral, 'Ephemeral')
  if (name === undefined || name === 'Data') return name === 'Data' || undefined
  throw new KmipDecodeError('wrong_member', 'Of the values of Ephemeral only Data is supported.')
}

const noPayload = structure(Tag.RequestPayload, [])

function toBatchItem(
  version: KmipVersion,
  operation: OperationName,
  payload: StructureNode,
  { uniqueBatchItemId, ephemeral, extensions = [] }: ItemFrame,
): RequestItem {
  const item = { operation, uniqueBatchItemId, ephemeral, extensions }
  const outcome = understood(version, operation, payload)
  return 'type' in outcome
    ? { ...item, payload: outcome, refusal: undefined }
    : { ...item, payload: noPayload, refusal: outcome }
}

/** The payload in the form of 2.x, or the reason why it is invalid. */
function understood(
  version: KmipVersion,
  operation: OperationName,
  payload: StructureNode,
): StructureNode | ItemFailure {
  if (!operationIn(version, operation))
    return { reason: 'OperationNotSupported', message: `KMIP ${version} has no operation ${operation}.` }
  if (!isLegacy(version) && version !== draftVersion) return payload
  try {
    return version === draftVersion ? fromVersion3(payload) : fromLegacy(operation, payload)
  } catch (error) {
    if (error instanceof ItemRefusal) return { reason: error.code, message: error.message }
    if (error instanceof KmipDecodeError) return { reason: toResultReason(error), message: error.message }
    throw error
  }
}

/** The operation named by the root of a bare request of this version, if any. */
export function bareOperation(version: KmipVersion, rootName: string): OperationName | undefined {
  const operation = rootName.length > 64 ? undefined : operationByName(rootName)
  return operation === undefined || isHidden(version, operation) ? undefined : operation
}

/** An invalid header or batch item is an error of the message. */
function asDecodeError(read: () => void): void {
  try {
    read()
  } catch (error) {
    if (error instanceof ItemRefusal) throw new KmipDecodeError('wrong_member', error.message)
    throw error
  }
}
