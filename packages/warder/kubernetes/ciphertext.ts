import { Refused } from './refused.ts'

/** An encrypted key of the API server, as members of a flattened JWE (RFC 7516), base64url. */
export interface Sealed {
  readonly protected: string
  readonly iv: string
  readonly ciphertext: string
  readonly tag: string
}

/** Limits of the upstream interface on a ciphertext and on a key id. */
const maxCiphertextBytes = 1024
const maxKeyIdBytes = 1024
const format = 1
const ivBytes = 12
const tagBytes = 16
const headerAt = 3

/**
 * Encodes the compact form: 1 ‖ length of the protected header, two bytes ‖ the header as JSON ‖ iv 12 ‖ tag 16 ‖ ciphertext.
 * @throws Refused when it exceeds the limit of the interface
 */
export function encodeCiphertext(sealed: Sealed): Buffer {
  const header = Buffer.from(sealed.protected, 'base64url')
  const iv = Buffer.from(sealed.iv, 'base64url')
  const tag = Buffer.from(sealed.tag, 'base64url')
  if (iv.length !== ivBytes || tag.length !== tagBytes)
    throw new Refused(
      'internal',
      'the key management service used another cipher than AES-GCM: --key must be an AES key of 256 bits',
    )
  const start = Buffer.alloc(headerAt)
  start[0] = format
  start.writeUInt16BE(header.length, 1)
  const all = Buffer.concat([start, header, iv, tag, Buffer.from(sealed.ciphertext, 'base64url')])
  if (all.length > maxCiphertextBytes)
    throw new Refused(
      'invalid',
      `the plaintext is too long: its ciphertext would exceed ${maxCiphertextBytes} bytes`,
    )
  return all
}

/** Decodes the compact form. @throws Refused for bytes of another origin */
export function decodeCiphertext(bytes: Uint8Array): Sealed {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (
    buffer.length > maxCiphertextBytes ||
    buffer.length < headerAt + ivBytes + tagBytes ||
    buffer[0] !== format
  )
    throw createForeignError()
  const ivAt = headerAt + buffer.readUInt16BE(1)
  const tagAt = ivAt + ivBytes
  const ciphertextAt = tagAt + tagBytes
  if (ciphertextAt > buffer.length) throw createForeignError()
  const encodePart = (from: number, to?: number): string => buffer.subarray(from, to).toString('base64url')
  return {
    protected: encodePart(headerAt, ivAt),
    iv: encodePart(ivAt, tagAt),
    tag: encodePart(tagAt, ciphertextAt),
    ciphertext: encodePart(ciphertextAt),
  }
}

/** Reads the key version in a protected header. @throws Refused */
export function readKeyId(header: string): string {
  const json = parseHeader(Buffer.from(header, 'base64url').toString('utf8'))
  const { kid } = (json ?? {}) as { kid?: unknown }
  if (typeof kid !== 'string' || kid === '' || Buffer.byteLength(kid) > maxKeyIdBytes)
    throw createForeignError()
  return kid
}

function parseHeader(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw createForeignError()
  }
}

function createForeignError(): Refused {
  return new Refused('invalid', 'the ciphertext was not made by this provider')
}
