import type { Buffer } from 'node:buffer'
import { Tag } from '@warder/kmip/tables'
import type { SeenVersion } from '@warder/kmip/ttlv'

/** Bytes at the beginning of a message that hold its version: three structures, two Integers. */
export const sniffedBytes = 56

const structure = 0x01
const integer = 0x02

/**
 * The version of a message that cannot be read as a whole: `RequestMessage{RequestHeader{ProtocolVersion{Major, Minor`
 * must stand at its beginning, as the standard orders them (KMIP 2.1 §8.2). Undefined where it does not.
 */
export function sniffVersion(bytes: Buffer): SeenVersion | undefined {
  if (bytes.length < sniffedBytes) return undefined
  const begins = (offset: number, tag: number, type: number): boolean =>
    bytes.readUIntBE(offset, 3) === tag && bytes.readUInt8(offset + 3) === type
  const isHeader =
    begins(0, Tag.RequestMessage, structure) &&
    begins(8, Tag.RequestHeader, structure) &&
    begins(16, Tag.ProtocolVersion, structure) &&
    begins(24, Tag.ProtocolVersionMajor, integer) &&
    begins(40, Tag.ProtocolVersionMinor, integer)
  return isHeader ? { major: bytes.readInt32BE(32), minor: bytes.readInt32BE(48) } : undefined
}
