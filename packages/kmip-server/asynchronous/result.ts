import { Buffer } from 'node:buffer'
import type { ResponseItem } from '@warder/kmip-codec'
import {
  decodeTtlv,
  Enumeration,
  encodeTtlv,
  enumeration,
  type OperationName,
  operationByName,
  optional,
  optionalName,
  optionalStructure,
  requireMember,
  requireType,
  structure,
  Tag,
  textString,
  valueByName,
  valueName,
} from '@warder/kmip-codec'
import type { Seal } from '@warder/storage'

const place = (id: string) => ({ table: 'kmip_pending', row: id, column: 'result' })

/** Encodes an answer for storage. It is sealed, since it may contain keys. */
export function sealResult(seal: Seal, id: string, response: ResponseItem): Uint8Array {
  const { status, reason, message, payload } = response
  const bytes = encodeTtlv(
    structure(Tag.BatchItem, [
      enumeration(Tag.ResultStatus, valueByName('ResultStatus', status) ?? 1),
      reason === undefined ? undefined : enumeration(Tag.ResultReason, Enumeration.ResultReason[reason]),
      message === undefined ? undefined : textString(Tag.ResultMessage, message),
      payload === undefined ? undefined : structure(Tag.ResponsePayload, payload),
    ]),
  )
  try {
    return seal.seal(place(id), bytes)
  } finally {
    bytes.fill(0)
  }
}

/** Decodes the stored answer, under the name of the requested operation. */
export async function decryptResult(
  seal: Seal,
  id: string,
  operation: string,
  sealed: Uint8Array,
): Promise<Pick<ResponseItem, 'operation' | 'status' | 'reason' | 'message' | 'payload'>> {
  const item = requireType(decodeTtlv(await seal.open(place(id), sealed)), 'Structure')
  return {
    operation: operationByName(operation) as OperationName | undefined,
    status:
      valueName('ResultStatus', requireMember(item, Tag.ResultStatus, 'Enumeration')) ?? 'OperationFailed',
    reason: optionalName(item, Tag.ResultReason, 'ResultReason'),
    message: optional(item, Tag.ResultMessage, 'TextString'),
    payload: optionalStructure(item, Tag.ResponsePayload)?.value,
  }
}

/** An AsynchronousCorrelationValue: the id in UTF-8. */
export function correlationValue(id: string): Uint8Array {
  return Buffer.from(id, 'utf8')
}

/** Arrival time of the request in seconds since 1970: its id begins with it (RFC 9562 §5.7). */
export function readSubmissionTime(id: string): number {
  return Math.floor(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) / 1000)
}

const maxIdLength = 64

/** undefined for a value that this server cannot have issued. */
export function parseCorrelation(value: Uint8Array): string | undefined {
  if (value.length === 0 || value.length > maxIdLength) return undefined
  const id = Buffer.from(value).toString('latin1')
  return /^[0-9a-f-]+$/.test(id) ? id : undefined
}
