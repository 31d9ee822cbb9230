import { Buffer } from 'node:buffer'
import { decodeJson, decodeMembers, decodeParsed, parseRoot } from '../json/decode.ts'
import { encodeJson, encodeJsonAs, encodeJsonForFetch } from '../json/encode.ts'
import type { ResultReason } from '../tables/reasons.ts'
import { Tag } from '../tables/tags.gen.ts'
import { draftVersion, type KmipVersion, kmipVersion } from '../tables/versions.ts'
import { decodeTtlv } from '../ttlv/decode.ts'
import { encodeTtlv } from '../ttlv/encode.ts'
import { type KmipDecodeCode, KmipDecodeError, KmipEncodeError, type SeenVersion } from '../ttlv/error.ts'
import type { DecodeLimits, TtlvNode } from '../ttlv/node.ts'
import { decodeXml } from '../xml/decode.ts'
import { encodeXml } from '../xml/encode.ts'
import { bareOperation, bareRequest, readRequest } from './request.ts'
import { payloadNode, writeResponse } from './response.ts'
import type { Encoding, MessageLimits, RequestMessage, ResponseMessage } from './types.ts'

/** Length of the beginning of a binary message that contains its version: three structures, two Integers. */
export const sniffedBytes = 56

const structure = 0x01
const integer = 0x02

/**
 * Reads the version of a binary message that cannot be decoded completely:
 * `RequestMessage{RequestHeader{ProtocolVersion{Major, Minor` must be at its beginning, in the order of the
 * standard (KMIP 2.1 §8.2). Undefined otherwise.
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
 * The error for a message that cannot be decoded. A message of an unsupported version is reported as such,
 * not by the rules of another version: item types of KMIP 3.0 are not an error of a client that asks for the
 * server's versions (KMIP 2.1 §9.18).
 */
function asUnspoken(
  error: KmipDecodeError,
  bytes: Uint8Array,
  encoding: Encoding,
  draft: boolean | undefined,
): KmipDecodeError {
  if (error.version !== undefined || error.code === 'unsupported_version') return error
  const seen = versionIn(bytes, encoding)
  if (seen === undefined || kmipVersion(seen.major, seen.minor, draft) !== undefined) return error
  return new KmipDecodeError('unsupported_version', 'This protocol version is not supported.', seen)
}

function versionIn(bytes: Uint8Array, encoding: Encoding): SeenVersion | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (encoding === 'ttlv') return sniffVersion(buffer)
  return encoding === 'json' ? jsonVersion(buffer) : xmlVersion(buffer)
}

function jsonVersion(bytes: Buffer): SeenVersion | undefined {
  try {
    return versionInJson(JSON.parse(bytes.toString('utf8')))
  } catch {
    return undefined
  }
}

function versionInJson(root: unknown): SeenVersion | undefined {
  const version = findMember(findMember(root, 'RequestHeader'), 'ProtocolVersion')
  return seen(
    valueIn(findMember(version, 'ProtocolVersionMajor')),
    valueIn(findMember(version, 'ProtocolVersionMinor')),
  )
}

/** Finds the member with this tag in a JSON structure. */
function findMember(node: unknown, tag: string): unknown {
  const value = valueIn(node)
  return Array.isArray(value) ? value.find((member) => member?.tag === tag) : undefined
}

function valueIn(node: unknown): unknown {
  return typeof node === 'object' && node !== null && 'value' in node ? node.value : undefined
}

/** In XML the header is at the beginning of the message, after the declaration. */
const xmlHeaderBytes = 4096
const xmlNumber = (name: string) => new RegExp(`<${name}\\s[^<>]*?\\bvalue\\s*=\\s*["']([^"'<>]{1,10})["']`)
const [xmlMajor, xmlMinor] = [xmlNumber('ProtocolVersionMajor'), xmlNumber('ProtocolVersionMinor')]

function xmlVersion(bytes: Buffer): SeenVersion | undefined {
  const text = bytes.toString('latin1', 0, xmlHeaderBytes)
  return seen(xmlMajor.exec(text)?.[1], xmlMinor.exec(text)?.[1])
}

/** Integers in JSON and XML: decimal, or hexadecimal digits after 0x. */
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

/** The encoding of an HTTP content type (parameters are ignored); undefined for others. */
export function findEncoding(contentType: string): Encoding | undefined {
  const semicolon = contentType.indexOf(';')
  switch ((semicolon < 0 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase()) {
    case 'application/octet-stream':
      return 'ttlv'
    case 'application/json':
      return 'json'
    case 'text/xml':
    case 'application/xml':
      return 'xml'
    default:
      return undefined
  }
}

/** The content type of a reply in an encoding. */
export const contentTypes: Readonly<Record<Encoding, string>> = {
  ttlv: 'application/octet-stream',
  json: 'application/json',
  xml: 'text/xml',
}

export interface RequestOptions extends MessageLimits {
  /**
   * The version of bare operations, which do not contain one: `1.4` at `/kmip/1_4`, `2.1` at `/kmip/2_1`.
   * Absent: bare operations are refused.
   */
  readonly bareVersion?: KmipVersion
}

/**
 * Reads a request of any version in any encoding. JSON may also be one bare operation (`{"tag":"Create",…}`)
 * when `bareVersion` gives its version.
 * @throws KmipDecodeError with `version` if it could be read; `toErrorResponse` converts it to the response
 */
export function decodeRequest(
  bytes: Uint8Array,
  encoding: Encoding,
  options: RequestOptions = {},
): RequestMessage {
  try {
    return decodeMessage(bytes, encoding, options)
  } catch (error) {
    throw error instanceof KmipDecodeError ? asUnspoken(error, bytes, encoding, options.draft) : error
  }
}

function decodeMessage(bytes: Uint8Array, encoding: Encoding, options: RequestOptions): RequestMessage {
  if (encoding !== 'json') {
    const draft = options.draft === true && isDraft(versionIn(bytes, encoding))
    return readMessage(encoding === 'ttlv' ? decodeTtlv : decodeXml, bytes, options, draft)
  }
  const { bareVersion } = options
  if (bareVersion === undefined && options.draft !== true)
    return readMessage(decodeJson, bytes, options, false)
  const root = parseRoot(bytes)
  if (root.tag === Tag.RequestMessage || bareVersion === undefined) {
    const draft = options.draft === true && isDraft(versionInJson(root))
    return readMessage(decodeParsed, root, options, draft)
  }
  const operation = bareOperation(bareVersion, root.name)
  if (operation === undefined)
    throw new KmipDecodeError('unknown_operation', 'The root is neither a RequestMessage nor an operation.')
  const limits = { ...options, draft: bareVersion === draftVersion }
  return bareRequest(bareVersion, operation, decodeMembers(Tag.RequestPayload, root.value, limits))
}

/**
 * Only messages that are of version 3.0 at first sight are decoded with its words, so that those of the other versions
 * cannot use them. @param draft whether this one is
 */
function readMessage<Source>(
  decode: (source: Source, limits: DecodeLimits) => TtlvNode,
  source: Source,
  options: RequestOptions,
  draft: boolean,
): RequestMessage {
  const limits = { ...options, draft }
  const request = readRequest(decode(source, limits), limits)
  if (draft && request.version !== draftVersion)
    throw new KmipDecodeError('wrong_member', 'The message names two protocol versions.')
  return request
}

function isDraft(version: SeenVersion | undefined): boolean {
  return version !== undefined && kmipVersion(version.major, version.minor, true) === draftVersion
}

export interface ResponseOptions {
  /** The client expects the form of `encodeJsonForFetch` for a bare response. */
  readonly fetchForm?: boolean | undefined
}

/**
 * Encodes a response in its version. A bare response is JSON with the root `<Operation>Response`. @throws
 * KmipEncodeError for a bare response that is not a success or not JSON, and for values that have no encoding
 */
export function encodeResponse(
  response: ResponseMessage,
  encoding: Encoding,
  { fetchForm = false }: ResponseOptions = {},
): Buffer {
  const draft = response.version === draftVersion
  if (!response.bare) return encodeNode(writeResponse(response), encoding, draft)
  const [item] = response.items
  if (encoding !== 'json' || item?.operation === undefined || item.status !== 'Success')
    throw new KmipEncodeError('A bare response must be a success in JSON.')
  const encodeBare = fetchForm && !draft ? encodeJsonForFetch : encodeJsonAs
  return Buffer.from(encodeBare(`${item.operation}Response`, payloadNode(response.version, item), draft))
}

/** Whether the node is a message of 3.0. */
export function isDraftMessage(node: TtlvNode): boolean {
  const [header] = node.type === 'Structure' ? node.value : []
  const [version] = header?.type === 'Structure' ? header.value : []
  const [major] = version?.type === 'Structure' && version.tag === Tag.ProtocolVersion ? version.value : []
  return major?.tag === Tag.ProtocolVersionMajor && major.value === 3
}

/** Writes a node in an encoding: a message of 3.0 with its names. */
export function encodeNode(node: TtlvNode, encoding: Encoding, draft = isDraftMessage(node)): Buffer {
  if (encoding === 'ttlv') return encodeTtlv(node)
  return Buffer.from(encoding === 'json' ? encodeJson(node, draft) : encodeXml(node, draft))
}

/** Reads a node in an encoding. @throws KmipDecodeError */
export function decodeNode(bytes: Uint8Array, encoding: Encoding, limits: MessageLimits = {}): TtlvNode {
  if (encoding === 'ttlv') return decodeTtlv(bytes, limits)
  return encoding === 'json' ? decodeJson(bytes, limits) : decodeXml(bytes, limits)
}

/**
 * The response to a request that could not be decoded: one failed item without operation (KMIP 2.1 §8.6), in
 * the client's version if it is supported, else in 1.0, which every client can read.
 * @param now seconds since 1970
 * @param draft whether 3.0 is a supported version
 */
export function toErrorResponse(error: KmipDecodeError, now: number, draft = false): ResponseMessage {
  const version = error.version && kmipVersion(error.version.major, error.version.minor, draft)
  return {
    version: version ?? nearestVersion(error.version?.major, draft),
    bare: false,
    timeStamp: now,
    items: [
      {
        operation: undefined,
        status: 'OperationFailed',
        reason: messageReasons[error.code] ?? 'InvalidMessage',
        message: error.message,
      },
    ],
  }
}

const messageReasons: Readonly<Partial<Record<KmipDecodeCode, ResultReason>>> = {
  unsupported_version: 'UnsupportedProtocolVersion',
  unknown_operation: 'OperationNotSupported',
}

function nearestVersion(major: number | undefined, draft: boolean): KmipVersion {
  if (major === 1) return '1.4'
  if (draft && major !== undefined && major > 2) return draftVersion
  return major !== undefined && major > 1 ? '2.1' : '1.0'
}
