import { Enumeration } from '../tables/enumerations.gen.ts'
import { valueName } from '../tables/enumerations.ts'
import { Tag } from '../tables/tags.gen.ts'
import { draftVersion, isLegacy, type KmipVersion, kmipVersion } from '../tables/versions.ts'
import { KmipDecodeError } from '../ttlv/error.ts'
import {
  findMembers,
  optional,
  optionalName,
  optionalStructure,
  requireMember,
  requireStructure,
  requireType,
} from '../ttlv/members.ts'
import {
  boolean,
  byteString,
  dateTime,
  enumeration,
  integer,
  type StructureNode,
  structure,
  type TtlvNode,
  textString,
} from '../ttlv/node.ts'
import { fromLegacy } from './legacy.ts'
import { seenVersion } from './request.ts'
import { payloadFor, versionNode } from './response.ts'
import {
  ItemRefusal,
  type RequestItem,
  type RequestMessage,
  type ResponseItem,
  type ResponseMessage,
} from './types.ts'
import { fromVersion3 } from './version3.ts'

/** Encodes a request as a RequestMessage node in its version; for clients and tests. */
export function writeRequest(request: RequestMessage): StructureNode {
  const { header, version } = request
  const option = header.batchErrorContinuation
  return structure(Tag.RequestMessage, [
    structure(Tag.RequestHeader, [
      versionNode(version),
      header.maximumResponseSize === undefined
        ? undefined
        : integer(Tag.MaximumResponseSize, header.maximumResponseSize),
      header.clientCorrelationValue === undefined
        ? undefined
        : textString(Tag.ClientCorrelationValue, header.clientCorrelationValue),
      header.serverCorrelationValue === undefined
        ? undefined
        : textString(Tag.ServerCorrelationValue, header.serverCorrelationValue),
      asynchronousNode(request),
      header.authentication,
      option === undefined
        ? undefined
        : enumeration(Tag.BatchErrorContinuationOption, Enumeration.BatchErrorContinuationOption[option]),
      header.batchOrder === undefined || version === draftVersion
        ? undefined
        : boolean(Tag.BatchOrderOption, header.batchOrder),
      header.timeStamp === undefined ? undefined : dateTime(Tag.TimeStamp, header.timeStamp),
      version === draftVersion ? undefined : integer(Tag.BatchCount, request.items.length),
    ]),
    ...request.items.map((item) => requestItemNode(request, item)),
  ])
}

function asynchronousNode({ header, version }: RequestMessage): TtlvNode | undefined {
  if (header.asynchronous === undefined) return undefined
  return isLegacy(version)
    ? boolean(Tag.AsynchronousIndicator, header.asynchronous !== 'Prohibited')
    : enumeration(Tag.AsynchronousIndicator, Enumeration.AsynchronousIndicator[header.asynchronous])
}

function requestItemNode({ version }: RequestMessage, item: RequestItem): StructureNode {
  const { operation, uniqueBatchItemId, ephemeral } = item
  return structure(Tag.BatchItem, [
    enumeration(Tag.Operation, Enumeration.Operation[operation]),
    ephemeralNode(version, ephemeral),
    uniqueBatchItemId === undefined ? undefined : byteString(Tag.UniqueBatchItemID, uniqueBatchItemId),
    payloadFor(version, operation, item.payload, 'request'),
    ...item.extensions,
  ])
}

function ephemeralNode(version: KmipVersion, ephemeral: boolean | undefined): TtlvNode | undefined {
  if (ephemeral === undefined) return undefined
  if (version !== draftVersion) return boolean(Tag.Ephemeral, ephemeral)
  return ephemeral ? enumeration(Tag.Ephemeral, Enumeration.Ephemeral.Data) : undefined
}

/**
 * Decodes a ResponseMessage node; for clients and tests. @throws KmipDecodeError when it is not a response,
 * or has an unsupported version
 */
export function readResponse(node: TtlvNode): ResponseMessage {
  if (node.tag !== Tag.ResponseMessage || node.type !== 'Structure')
    throw new KmipDecodeError('wrong_member', 'The message is not a ResponseMessage.')
  const header = requireStructure(node, Tag.ResponseHeader)
  const seen = seenVersion(header)
  const version = kmipVersion(seen.major, seen.minor, true)
  if (version === undefined)
    throw new KmipDecodeError('unsupported_version', 'This protocol version is not supported.', seen)
  const items = findMembers(node, Tag.BatchItem)
  if (version !== draftVersion && requireMember(header, Tag.BatchCount, 'Integer') !== items.length)
    throw new KmipDecodeError('wrong_member', 'BatchCount differs from the number of batch items.')
  return {
    version,
    bare: false,
    timeStamp: requireMember(header, Tag.TimeStamp, 'DateTime'),
    clientCorrelationValue: optional(header, Tag.ClientCorrelationValue, 'TextString'),
    serverCorrelationValue: optional(header, Tag.ServerCorrelationValue, 'TextString'),
    items: items.map((item) => readResponseItem(version, requireType(item, 'Structure'))),
  }
}

function readResponseItem(version: KmipVersion, item: StructureNode): ResponseItem {
  const operation = optionalName(item, Tag.Operation, 'Operation')
  const payload = optionalStructure(item, Tag.ResponsePayload)
  const read = (): readonly TtlvNode[] | undefined => {
    if (payload === undefined || operation === undefined) return payload?.value
    if (version === draftVersion) return fromVersion3(payload).value
    return isLegacy(version) ? fromLegacy(operation, payload).value : payload.value
  }
  return {
    operation,
    uniqueBatchItemId: optional(item, Tag.UniqueBatchItemID, 'ByteString'),
    status:
      valueName('ResultStatus', requireMember(item, Tag.ResultStatus, 'Enumeration')) ?? 'OperationFailed',
    reason: optionalName(item, Tag.ResultReason, 'ResultReason'),
    message: optional(item, Tag.ResultMessage, 'TextString'),
    asynchronousCorrelationValue: optional(item, Tag.AsynchronousCorrelationValue, 'ByteString'),
    payload: asDecodeError(read),
  }
}

function asDecodeError<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof ItemRefusal) throw new KmipDecodeError('wrong_member', error.message)
    throw error
  }
}
