import { failure } from '@warder/base'

/** Text that is known to be strict base64url (RFC 4648 §5): no padding, canonical last character. */
export type Base64Url = string & { readonly __brand: 'Base64Url' }

/** The base64url text of `bytes`, without padding. */
export function encodeBase64Url(bytes: Uint8Array): Base64Url {
  const buffer = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return buffer.toString('base64url') as Base64Url
}

/**
 * The bytes of strict base64url `text`. `member` names the request's member in the error.
 * @throws Failure bad_request for padding, foreign characters or spare bits that are not zero.
 */
export function decodeBase64Url(text: string, member: string): Buffer {
  const bytes = Buffer.from(text, 'base64url')
  // Buffer skips invalid characters, so only strict text survives the round trip.
  if (bytes.toString('base64url') !== text) throw failure('bad_request', `'${member}' is not base64url.`)
  return bytes
}
