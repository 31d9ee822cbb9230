import { Enumeration } from '../tables/enumerations.gen.ts'
import { valueByName } from '../tables/enumerations.ts'
import { messageIn } from '../tables/legacy-messages.ts'
import { reasonIn } from '../tables/reasons.ts'
import { Tag } from '../tables/tags.gen.ts'
import { atLeast, type KmipVersion, versionNumbers } from '../tables/versions.ts'
import { byteString, dateTime, enumeration, integer, structure, textString } from '../ttlv/build.ts'
import type { StructureNode } from '../ttlv/node.ts'
import type { ResponseItem, ResponseMessage } from './types.ts'
import { payloadFor } from './versioned.ts'

/** Encodes a response as a ResponseMessage node in the client's version (KMIP 2.1 §8). */
export function writeResponse(response: ResponseMessage): StructureNode {
  const { version } = response
  return structure(Tag.ResponseMessage, [
    structure(Tag.ResponseHeader, [
      versionNode(version),
      dateTime(Tag.TimeStamp, response.timeStamp),
      correlation(version, Tag.ClientCorrelationValue, response.clientCorrelationValue),
      correlation(version, Tag.ServerCorrelationValue, response.serverCorrelationValue),
      integer(Tag.BatchCount, response.items.length),
    ]),
    ...response.items.map((item) => itemNode(version, item)),
  ])
}

/** Encodes the payload of a response as a ResponsePayload node in the client's version. */
export function payloadNode(version: KmipVersion, item: ResponseItem): StructureNode {
  const payload = structure(Tag.ResponsePayload, item.payload ?? [])
  return item.operation === undefined ? payload : payloadFor(version, item.operation, payload, 'response')
}

export function versionNode(version: KmipVersion): StructureNode {
  const { major, minor } = versionNumbers(version)
  return structure(Tag.ProtocolVersion, [
    integer(Tag.ProtocolVersionMajor, major),
    integer(Tag.ProtocolVersionMinor, minor),
  ])
}

function correlation(version: KmipVersion, tag: number, value: string | undefined) {
  return value === undefined || !atLeast(version, '1.4') ? undefined : textString(tag, value)
}

function itemNode(version: KmipVersion, item: ResponseItem): StructureNode {
  const { operation, uniqueBatchItemId, reason, message, asynchronousCorrelationValue } = item
  return structure(Tag.BatchItem, [
    operation === undefined ? undefined : enumeration(Tag.Operation, Enumeration.Operation[operation]),
    uniqueBatchItemId === undefined ? undefined : byteString(Tag.UniqueBatchItemID, uniqueBatchItemId),
    enumeration(Tag.ResultStatus, valueByName('ResultStatus', item.status) ?? 1),
    reason === undefined
      ? undefined
      : enumeration(Tag.ResultReason, Enumeration.ResultReason[reasonIn(version, reason, operation)]),
    message === undefined
      ? undefined
      : textString(Tag.ResultMessage, messageIn(version, message, reason, operation)),
    asynchronousCorrelationValue === undefined
      ? undefined
      : byteString(Tag.AsynchronousCorrelationValue, asynchronousCorrelationValue),
    item.payload === undefined ? undefined : payloadNode(version, item),
  ])
}
