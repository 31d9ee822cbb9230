import { failure } from '@warder/base'
import type { IncomingRequest } from '@warder/server'

const maxFields = 16
const formType = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i
const [ampersand, equals] = ['&'.charCodeAt(0), '='.charCodeAt(0)]
const maxNameLength = 64

/**
 * Reads the fields of a form as they were sent: percent-encoded, and as views of the body. A large field is decoded
 * by its reader, outside of the event loop.
 * @throws failure('bad_request' | 'unsupported_media_type')
 */
export function readForm(request: IncomingRequest): ReadonlyMap<string, Uint8Array> {
  if (!formType.test(request.headers['content-type'] ?? ''))
    throw failure(
      'unsupported_media_type',
      'The content type of the body must be application/x-www-form-urlencoded.',
    )
  const { body } = request
  const fields = new Map<string, Uint8Array>()
  for (let start = 0; start <= body.length; ) {
    const next = body.indexOf(ampersand, start)
    const part = body.subarray(start, next < 0 ? body.length : next)
    if (fields.size === maxFields)
      throw failure('bad_request', 'Invalid request body: it has too many fields.')
    const split = part.indexOf(equals)
    const name = textOfField(split < 0 ? part : part.subarray(0, split), maxNameLength)
    if (fields.has(name)) throw failure('bad_request', 'Invalid request body: a field appears twice.')
    fields.set(name, split < 0 ? part.subarray(part.length) : part.subarray(split + 1))
    start = next < 0 ? body.length + 1 : next + 1
  }
  return fields
}

/**
 * Returns a short field as it was sent. A longer one is cut, so that it equals none of the texts that it is compared
 * with.
 */
export function textOfField(field: Uint8Array | undefined, maxLength = 256): string {
  return Buffer.from(field?.subarray(0, maxLength + 1) ?? []).toString('latin1')
}
