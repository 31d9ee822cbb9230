/** Policies and plaintexts as the deployed service frames them in the data of a request. */

import { bytes, join, leb, Reader } from './bytes.ts'
import { covercryptError } from './error.ts'

/** Maximum number of items in a bulk request. */
const maxItems = 10_000

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export interface SealRequest {
  readonly policy: string
  readonly plaintext: Uint8Array
}

/** `leb(length) || policy || plaintext`. @throws CovercryptError malformed, invalid_policy */
export function decodeSealRequest(data: Uint8Array): SealRequest {
  const reader = new Reader(data, 'data to encrypt')
  const policy = readPolicy(reader)
  return { policy, plaintext: reader.take(reader.left) }
}

export function encodeSealRequest({ policy, plaintext }: SealRequest): Uint8Array<ArrayBuffer> {
  return join([bytes(Buffer.from(policy, 'utf8')), plaintext])
}

export interface BulkSealRequest {
  readonly policy: string
  readonly plaintexts: readonly Uint8Array[]
}

/** `leb(length) || policy || items`. @throws CovercryptError malformed, invalid_policy, too_large */
export function decodeBulkSealRequest(data: Uint8Array): BulkSealRequest {
  const reader = new Reader(data, 'bulk data to encrypt')
  const policy = readPolicy(reader)
  // Clients before version 5 of the deployed product put header metadata, usually empty, before the items.
  if (reader.left > 1 && data[reader.position] === 0)
    reader.refuse('the items must follow the policy, without header metadata')
  return { policy, plaintexts: readItems(reader) }
}

export function encodeBulkSealRequest({ policy, plaintexts }: BulkSealRequest): Uint8Array<ArrayBuffer> {
  return join([bytes(Buffer.from(policy, 'utf8')), encodeItems(plaintexts)])
}

/** `leb(n) || n x (leb(length) || item)`. @throws CovercryptError malformed, too_large */
export function decodeItems(data: Uint8Array): readonly Uint8Array[] {
  return readItems(new Reader(data, 'bulk data'))
}

export function encodeItems(items: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return join([leb(items.length), ...items.map(bytes)])
}

function readItems(reader: Reader): readonly Uint8Array[] {
  const count = reader.count(1)
  if (count > maxItems) throw covercryptError('too_large', `Bulk data may contain at most ${maxItems} items.`)
  const items = Array.from({ length: count }, () => reader.bytes())
  reader.end()
  return items
}

function readPolicy(reader: Reader): string {
  const policy = reader.bytes()
  if (policy.length === 0)
    throw covercryptError(
      'invalid_policy',
      'The data to encrypt do not begin with a policy; write * for all users.',
    )
  try {
    return utf8.decode(policy)
  } catch {
    return reader.refuse('its policy is not UTF-8')
  }
}
