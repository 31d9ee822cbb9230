import { failure } from '@warder/base'

/**
 * Blob that Google stores with an encrypted object and sends back for decryption:
 *
 *     'WGC' | 0x01 | kind | length, key id | length, perimeter | IV (12) | ciphertext | tag (16)
 *
 * Lengths are one byte. The additional authenticated data is everything before the IV, followed by the resource name: a
 * blob can be decrypted only with its key, for its resource and as its kind. It contains its perimeter, because takeout
 * and migration have to decrypt it without this information (docs/adr/google-and-microsoft.md).
 */
export interface WrappedBlob {
  readonly kind: BlobKind
  /** The version of the wrapping key that opens it. */
  readonly kid: string
  /** Empty: none. */
  readonly perimeterId: string
  readonly iv: Uint8Array
  readonly ciphertext: Uint8Array
  readonly tag: Uint8Array
}

export type BlobHead = Pick<WrappedBlob, 'kind' | 'kid' | 'perimeterId'>

const kinds = { 'data key': 1, 'private key': 2 } as const
export type BlobKind = keyof typeof kinds

const start = Buffer.from([0x57, 0x47, 0x43, 0x01])
const ivBytes = 12
const tagBytes = 16

function headBytes({ kind, kid, perimeterId }: BlobHead): Buffer {
  return Buffer.concat([start, Buffer.of(kinds[kind]), prefix(kid), prefix(perimeterId)])
}

function prefix(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length > 255) throw failure('bad_request', 'A name is longer than 255 bytes.')
  return Buffer.concat([Buffer.of(bytes.length), bytes])
}

/** The additional authenticated data. @param resource empty for what belongs to no resource */
export function blobAad(head: BlobHead, resource: string): Buffer {
  return Buffer.concat([headBytes(head), Buffer.from(resource, 'utf8')])
}

export function writeBlob(blob: WrappedBlob): Buffer {
  return Buffer.concat([headBytes(blob), blob.iv, blob.ciphertext, blob.tag])
}

/** @returns undefined for bytes that were not written by `writeBlob` for this kind */
export function readBlob(bytes: Buffer, kind: BlobKind): WrappedBlob | undefined {
  if (bytes.length < start.length + 1 || !bytes.subarray(0, start.length).equals(start)) return undefined
  if (bytes[start.length] !== kinds[kind]) return undefined
  const kid = readPrefixed(bytes, start.length + 1)
  const perimeter = kid && readPrefixed(bytes, kid.end)
  if (kid === undefined || perimeter === undefined) return undefined
  const rest = bytes.subarray(perimeter.end)
  if (rest.length <= ivBytes + tagBytes) return undefined
  return {
    kind,
    kid: kid.text,
    perimeterId: perimeter.text,
    iv: rest.subarray(0, ivBytes),
    ciphertext: rest.subarray(ivBytes, -tagBytes),
    tag: rest.subarray(-tagBytes),
  }
}

function readPrefixed(
  bytes: Buffer,
  at: number,
): { readonly text: string; readonly end: number } | undefined {
  const length = bytes[at]
  if (length === undefined || at + 1 + length > bytes.length) return undefined
  const end = at + 1 + length
  const text = bytes.toString('utf8', at + 1, end)
  // Bytes that are not UTF-8 would not be the same when they are written again.
  return Buffer.byteLength(text) === length ? { text, end } : undefined
}
