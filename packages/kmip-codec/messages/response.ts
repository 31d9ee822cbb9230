import { algorithmIn, keyFormatIn, renamesEllipticKeys } from '../tables/elliptic.ts'
import { Enumeration } from '../tables/enumerations.gen.ts'
import { valueByName, valueName } from '../tables/enumerations.ts'
import { type OperationName, objectTypeIn, operationIn } from '../tables/operations.ts'
import { messageIn, reasonIn } from '../tables/reasons.ts'
import { Tag } from '../tables/tags.gen.ts'
import { tagIntroduced } from '../tables/tags.ts'
import { atLeast, draftVersion, isLegacy, type KmipVersion, versionNumbers } from '../tables/versions.ts'
import { findMember } from '../ttlv/members.ts'
import {
  byteString,
  dateTime,
  enumeration,
  integer,
  type StructureNode,
  structure,
  type TtlvNode,
  textString,
} from '../ttlv/node.ts'
import { toLegacy } from './legacy.ts'
import { attributesIn } from './legacy-attributes.ts'
import type { ResponseItem, ResponseMessage } from './types.ts'
import { toVersion3 } from './version3.ts'

/** Operations whose responses contain formats and algorithms of keys. */
const namesKeys: ReadonlySet<OperationName> = new Set(['Get', 'Export', 'GetAttributes'])

/**
 * Converts a response in the form of 2.x to the key names of this version: EC keys have other names before
 * 1.4. In 1.0, whose Digest has no format (KMIP 1.0 §3.12, 1.1 §3.17), only the first digest is returned,
 * that of the registered format.
 */
function asKnownTo(version: KmipVersion, operation: OperationName, payload: StructureNode): StructureNode {
  return namesKeys.has(operation) && renamesEllipticKeys(version)
    ? renameAlgorithms(version, payload)
    : payload
}

/** @param around CryptographicAlgorithm of the enclosing structure */
function renameAlgorithms(version: KmipVersion, node: StructureNode, around?: number): StructureNode {
  const algorithm = findMember(node, Tag.CryptographicAlgorithm)
  const use = algorithm?.type === 'Enumeration' ? algorithm.value : around
  const digest = findMember(node, Tag.Digest)
  return structure(
    node.tag,
    node.value.flatMap((member): TtlvNode | readonly TtlvNode[] => {
      if (version === '1.0' && member.tag === Tag.Digest && member !== digest) return []
      if (member.type === 'Structure') return renameAlgorithms(version, member, use)
      if (member.type !== 'Enumeration') return member
      if (member.tag === Tag.KeyFormatType) {
        if (version === '1.0' && node.tag === Tag.Digest) return []
        return enumeration(member.tag, keyFormatIn(version, member.value, use))
      }
      if (member.tag === Tag.CryptographicAlgorithm)
        return enumeration(member.tag, algorithmIn(version, member.value))
      return member
    }),
  )
}

const attributeHolders: ReadonlySet<number> = new Set([
  Tag.Attributes,
  Tag.CommonAttributes,
  Tag.PrivateKeyAttributes,
  Tag.PublicKeyAttributes,
])

/**
 * Converts a payload in the form of 2.x to the client's version: to the 1.x form for 1.x, and without tags,
 * attributes, operations or object types that are newer than this version. NewAttribute, CurrentAttribute and
 * AttributeIndex in a reply are only for 1.x clients, whose replies contain the changed attribute.
 */
export function payloadFor(
  version: KmipVersion,
  operation: OperationName,
  given: StructureNode,
  direction: 'request' | 'response',
): StructureNode {
  const payload = direction === 'request' ? given : asKnownTo(version, operation, given)
  if (isLegacy(version)) return prune(version, toLegacy(version, operation, payload))
  const members =
    direction === 'request' ? payload.value : payload.value.filter(({ tag }) => !onlyForLegacy.has(tag))
  const kept = members.length === payload.value.length ? payload : structure(payload.tag, members)
  if (version === draftVersion) return toVersion3(kept)
  return version === '2.1' ? kept : prune(version, kept)
}

const onlyForLegacy: ReadonlySet<number> = new Set([
  Tag.NewAttribute,
  Tag.CurrentAttribute,
  Tag.AttributeIndex,
])

function prune(version: KmipVersion, node: StructureNode): StructureNode {
  const members = attributeHolders.has(node.tag) ? attributesIn(version, node.value) : node.value
  return structure(
    node.tag,
    members.flatMap((member) => {
      if (!isKnown(version, member)) return []
      return [member.type === 'Structure' ? prune(version, member) : member]
    }),
  )
}

function isKnown(version: KmipVersion, node: TtlvNode): boolean {
  if (!atLeast(version, tagIntroduced(node.tag))) return false
  if (node.type !== 'Enumeration') return true
  if (node.tag === Tag.Operation) {
    const operation = valueName('Operation', node.value)
    return operation === undefined || operationIn(version, operation)
  }
  if (node.tag === Tag.ObjectType) {
    const type = valueName('ObjectType', node.value)
    return type === undefined || objectTypeIn(version, type)
  }
  return true
}

/** Encodes a response as a ResponseMessage node in the client's version (KMIP 2.1 §8). */
export function writeResponse(response: ResponseMessage): StructureNode {
  const { version } = response
  return structure(Tag.ResponseMessage, [
    structure(Tag.ResponseHeader, [
      versionNode(version),
      dateTime(Tag.TimeStamp, response.timeStamp),
      correlation(version, Tag.ClientCorrelationValue, response.clientCorrelationValue),
      correlation(version, Tag.ServerCorrelationValue, response.serverCorrelationValue),
      version === draftVersion ? undefined : integer(Tag.BatchCount, response.items.length),
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
