import { Buffer } from 'node:buffer'
import {
  decodeTtlv,
  encodeTtlv,
  type OperationName,
  operationByName,
  type ResponseItem,
  requireType,
  structure,
  Tag,
} from '@warder/kmip-codec'
import type { Seal } from '@warder/storage'
import { definePayload, field, required } from '../payloads/payload.ts'

/** The members of a stored answer. */
const answerItem = definePayload({
  status: required(field.named('ResultStatus')),
  reason: field.named('ResultReason'),
  message: field.text(Tag.ResultMessage),
  payload: field.structure(Tag.ResponsePayload),
})

const place = (id: string) => ({ table: 'kmip_pending', row: id, column: 'result' })

/** Encodes an answer for storage. It is sealed, since it may contain keys. */
export function sealResult(seal: Seal, id: string, response: ResponseItem): Uint8Array {
  const { status, reason, message, payload: members } = response
  const whole = members && structure(Tag.ResponsePayload, members)
  const kept = answerItem.encode({ status, reason, message, payload: whole })
  const bytes = encodeTtlv(structure(Tag.BatchItem, kept))
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
  const item = answerItem.decode(requireType(decodeTtlv(await seal.open(place(id), sealed)), 'Structure'))
  return {
    ...item,
    operation: operationByName(operation) as OperationName | undefined,
    payload: item.payload?.value,
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
