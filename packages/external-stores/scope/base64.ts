import { failure } from '@warder/base'

const alphabet = /^[A-Za-z0-9+/]*={0,2}$/

/**
 * Standard base64 (RFC 4648 §4). The padding may be missing, as in some of Google's own examples; unused bits must be
 * zero, so that a value has one spelling.
 * @param maxBytes bytes
 * @throws failure('bad_request') that names the member
 */
export function decodeBase64(text: string, member: string, maxBytes: number): Buffer {
  if (text.length > Math.ceil(maxBytes / 3) * 4)
    throw failure('bad_request', `${member}: is longer than ${maxBytes} bytes.`)
  const bytes = alphabet.test(text) ? Buffer.from(text, 'base64') : undefined
  if (bytes === undefined || stripPadding(bytes.toString('base64')) !== stripPadding(text))
    throw failure('bad_request', `${member}: is not base64.`)
  if (bytes.length === 0) throw failure('bad_request', `${member}: is empty.`)
  if (bytes.length > maxBytes) throw failure('bad_request', `${member}: is longer than ${maxBytes} bytes.`)
  return bytes
}

function stripPadding(text: string): string {
  return text.replace(/=+$/, '')
}
