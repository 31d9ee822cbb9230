import { Tag } from '../tables/tags.gen.ts'
import { kmipVersion } from '../tables/versions.ts'
import { KmipDecodeError, type SeenVersion } from '../ttlv/error.ts'
import type { Encoding } from './types.ts'

/** Bytes at the beginning of a binary message that hold its version: three structures, two Integers. */
export const sniffedBytes = 56

const structure = 0x01
const integer = 0x02

/**
 * The version of a binary message that cannot be read as a whole: `RequestMessage{RequestHeader{ProtocolVersion{Major,
 * Minor` must stand at its beginning, as the standard orders them (KMIP 2.1 §8.2). Undefined where it does not.
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

/**
 * What is wrong with a message that cannot be read. One of a version that is not spoken is not judged by the rules of another
 * one: item types of KMIP 3.0 are no mistake of a client that asks which version the server has (KMIP 2.1 §9.18).
 */
export function asUnspoken(error: KmipDecodeError, bytes: Uint8Array, encoding: Encoding): KmipDecodeError {
  if (error.version !== undefined || error.reason === 'unsupported_version') return error
  const seen = versionIn(bytes, encoding)
  if (seen === undefined || kmipVersion(seen.major, seen.minor) !== undefined) return error
  return new KmipDecodeError('unsupported_version', 'This protocol version is not supported.', seen)
}

function versionIn(bytes: Uint8Array, encoding: Encoding): SeenVersion | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (encoding === 'ttlv') return sniffVersion(buffer)
  return encoding === 'json' ? jsonVersion(buffer) : xmlVersion(buffer)
}

function jsonVersion(bytes: Buffer): SeenVersion | undefined {
  try {
    const header = findMember(JSON.parse(bytes.toString('utf8')), 'RequestHeader')
    const version = findMember(header, 'ProtocolVersion')
    return seen(
      valueIn(findMember(version, 'ProtocolVersionMajor')),
      valueIn(findMember(version, 'ProtocolVersionMinor')),
    )
  } catch {
    return undefined
  }
}

/** The member with this tag of a structure in JSON. */
function findMember(node: unknown, tag: string): unknown {
  const value = valueIn(node)
  return Array.isArray(value) ? value.find((member) => member?.tag === tag) : undefined
}

function valueIn(node: unknown): unknown {
  return typeof node === 'object' && node !== null && 'value' in node ? node.value : undefined
}

/** The header stands at the beginning of a message in XML, behind its declaration. */
const xmlHeaderBytes = 4096
const xmlNumber = (name: string) => new RegExp(`<${name}\\s[^<>]*?\\bvalue\\s*=\\s*["']([^"'<>]{1,10})["']`)
const [xmlMajor, xmlMinor] = [xmlNumber('ProtocolVersionMajor'), xmlNumber('ProtocolVersionMinor')]

function xmlVersion(bytes: Buffer): SeenVersion | undefined {
  const text = bytes.toString('latin1', 0, xmlHeaderBytes)
  return seen(xmlMajor.exec(text)?.[1], xmlMinor.exec(text)?.[1])
}

/** Numbers as JSON and XML write an Integer: decimal, or hexadecimal digits behind 0x. */
function seen(major: unknown, minor: unknown): SeenVersion | undefined {
  const numbers = [major, minor].map((value) =>
    typeof value === 'number' || (typeof value === 'string' && /^(-?\d+|0x[\da-f]+)$/i.test(value))
      ? Number(value)
      : Number.NaN,
  )
  const [first, second] = numbers
  return first !== undefined && second !== undefined && numbers.every(Number.isInteger)
    ? { major: first, minor: second }
    : undefined
}
