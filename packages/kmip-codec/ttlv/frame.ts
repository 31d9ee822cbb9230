import { KmipDecodeError } from './error.ts'

/** Bytes of a header: tag, type, length. */
const frameHeaderSize = 8

/** Default maximum size of a message: 64 MiB, as over HTTP. */
const defaultMaximumMessage = 64 * 1024 * 1024

/**
 * Returns the length of the message that starts with these bytes, to read messages from a stream: collect
 * until `prefix.length` reaches this length, then decode exactly that many bytes.
 * @returns bytes of the whole message with its header; undefined for fewer than 8 bytes @throws
 *   KmipDecodeError when no KMIP message can start with these bytes, or it would be larger than `maximum`
 */
export function frameLength(prefix: Uint8Array, maximum: number = defaultMaximumMessage): number | undefined {
  if (prefix.length > 0 && prefix[0] !== 0x42)
    throw new KmipDecodeError('unknown_tag', 'A message must start with a structure of the standard.')
  if (prefix.length > 3 && prefix[3] !== 0x01)
    throw new KmipDecodeError('unknown_type', 'A message must start with a structure.')
  if (prefix.length < frameHeaderSize) return undefined
  const view = new DataView(prefix.buffer, prefix.byteOffset, frameHeaderSize)
  const length = view.getUint32(4)
  if (length % 8 !== 0)
    throw new KmipDecodeError('wrong_length', 'The length of a structure must be a multiple of 8.')
  if (length + frameHeaderSize > maximum)
    throw new KmipDecodeError('too_large', 'The message exceeds the size limit.')
  return length + frameHeaderSize
}
