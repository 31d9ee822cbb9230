import { createHash, timingSafeEqual } from 'node:crypto'

const keyBytes = 32
export const idBytes = 16
const checksumBytes = 4
const textPrefix = 'warder-share-1.'
const payloadVersion = 1
const headerBytes = 1 + idBytes + 1 + 1

/** What a holder keeps: a point of the polynomial, and the set to which it belongs. */
export interface Share {
  /** Of the set, in hexadecimal. */
  readonly setId: string
  readonly number: number
  readonly installation: string
  readonly value: Buffer
  /** All of these, as `encodePayload` returns them. */
  readonly payload: Buffer
}

/** version | set | number | threshold | value | installation */
export function encodePayload(
  id: Uint8Array,
  threshold: number,
  { number, value, installation }: Pick<Share, 'number' | 'installation'> & { readonly value: Uint8Array },
): Buffer {
  return Buffer.concat([
    Buffer.of(payloadVersion),
    id,
    Buffer.of(number, threshold),
    value,
    Buffer.from(installation),
  ])
}

/** `warder-share-1.` and base64url of payload | checksum. */
export function formatShare(payload: Uint8Array): string {
  return textPrefix + Buffer.concat([payload, computeChecksum(payload)]).toString('base64url')
}

function computeChecksum(payload: Uint8Array): Buffer {
  return createHash('sha256')
    .update('warder share checksum')
    .update(payload)
    .digest()
    .subarray(0, checksumBytes)
}

/** The verification value of a share. It identifies the share, and reveals nothing about its 32 random bytes. */
export function computeCheck(payload: Uint8Array): Buffer {
  return createHash('sha256').update('warder share check v1').update(payload).digest()
}

/** Finds the shares among other lines of a text that holders paste or pipe. */
export function findShareTexts(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => /^warder-share-1\.[A-Za-z0-9_-]{64,256}$/.test(word))
}

/** @returns undefined for text that is no whole share; whether it belongs to a set is for its verification value to say */
export function parseShare(text: string): Share | undefined {
  if (findShareTexts(text)[0] !== text) return undefined
  const encoded = text.slice(textPrefix.length)
  const bytes = Buffer.from(encoded, 'base64url')
  // Refuses bits and characters that decoding would ignore.
  if (bytes.toString('base64url') !== encoded) return undefined
  const end = bytes.length - checksumBytes
  if (end <= headerBytes + keyBytes || bytes[0] !== payloadVersion) return undefined
  const payload = bytes.subarray(0, end)
  if (!timingSafeEqual(computeChecksum(payload), bytes.subarray(end))) return undefined
  return {
    setId: payload.subarray(1, 1 + idBytes).toString('hex'),
    number: payload[1 + idBytes] ?? 0,
    installation: payload.subarray(headerBytes + keyBytes).toString('utf8'),
    value: payload.subarray(headerBytes, headerBytes + keyBytes),
    payload,
  }
}
