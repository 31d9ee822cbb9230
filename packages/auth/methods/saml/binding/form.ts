import { failure } from '@warder/foundation/errors'
import type { IncomingRequest } from '@warder/foundation/operations'

const mostFields = 16
const formType = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i

/**
 * The fields of a form, as they were sent: percent-encoded. A large field is decoded where it is read.
 * @throws failure('bad_request' | 'unsupported_media_type')
 */
export function readForm(request: IncomingRequest): ReadonlyMap<string, string> {
  if (!formType.test(request.headers['content-type'] ?? ''))
    throw failure(
      'unsupported_media_type',
      'The content type of the body must be application/x-www-form-urlencoded.',
    )
  const body = request.body
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')
  const parts = text.split('&', mostFields + 1)
  if (parts.length > mostFields) throw failure('bad_request', 'Invalid request body: it has too many fields.')
  const fields = new Map<string, string>()
  for (const part of parts) {
    const equals = part.indexOf('=')
    const name = equals < 0 ? part : part.slice(0, equals)
    if (fields.has(name)) throw failure('bad_request', 'Invalid request body: a field appears twice.')
    fields.set(name, part.slice(name.length + 1))
  }
  return fields
}
