import { Buffer } from 'node:buffer'
import { decodeJson, decodeMembers, parseRoot } from '../json/decode.ts'
import { encodeJson, encodeJsonAs } from '../json/encode.ts'
import { encodeJsonForFetch } from '../json/fetch-form.ts'
import type { ResultReason } from '../tables/reasons.ts'
import { Tag } from '../tables/tags.gen.ts'
import { type KmipVersion, kmipVersion } from '../tables/versions.ts'
import { decodeTtlv } from '../ttlv/decode.ts'
import { encodeTtlv } from '../ttlv/encode.ts'
import { KmipDecodeError, type KmipDecodeReason, KmipEncodeError } from '../ttlv/error.ts'
import type { TtlvNode } from '../ttlv/node.ts'
import { decodeXml } from '../xml/decode.ts'
import { encodeXml } from '../xml/encode.ts'
import { bareOperation, bareRequest, readRequest } from './request.ts'
import { payloadNode, writeResponse } from './response.ts'
import { asUnspoken } from './sniff-version.ts'
import type { Encoding, MessageLimits, RequestMessage, ResponseMessage } from './types.ts'

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
  /** The version of bare operations, which name none: `1.4` at `/kmip/1_4`, `2.1` at `/kmip/2_1`. Absent: none is read. */
  readonly bareVersion?: KmipVersion
}

/**
 * Reads a request of any version in any encoding. JSON may also be one bare operation (`{"tag":"Create",…}`) when
 * `bareVersion` says of which version.
 * @throws KmipDecodeError with `version` where it could be read; `toErrorResponse` makes the answer of it
 */
export function decodeRequest(
  bytes: Uint8Array,
  encoding: Encoding,
  options: RequestOptions = {},
): RequestMessage {
  try {
    return decodeMessage(bytes, encoding, options)
  } catch (error) {
    throw error instanceof KmipDecodeError ? asUnspoken(error, bytes, encoding) : error
  }
}

function decodeMessage(bytes: Uint8Array, encoding: Encoding, options: RequestOptions): RequestMessage {
  if (encoding === 'ttlv') return readRequest(decodeTtlv(bytes, options), options)
  if (encoding === 'xml') return readRequest(decodeXml(bytes, options), options)
  if (options.bareVersion === undefined) return readRequest(decodeJson(bytes, options), options)
  const root = parseRoot(bytes)
  if (root.tag === Tag.RequestMessage)
    return readRequest(decodeMembers(Tag.RequestMessage, root.value, options), options)
  const operation = bareOperation(root.name)
  if (operation === undefined)
    throw new KmipDecodeError('unknown_operation', 'The root is neither a RequestMessage nor an operation.')
  return bareRequest(options.bareVersion, operation, decodeMembers(Tag.RequestPayload, root.value, options))
}

export interface ResponseOptions {
  /** A bare answer is for a client that reads `encodeJsonForFetch`. */
  readonly fetchForm?: boolean | undefined
}

/**
 * Writes an answer in its version. A bare one is JSON whose root is `<Operation>Response`.
 * @throws KmipEncodeError for a bare answer that is no success or not JSON, and for values that have no encoding
 */
export function encodeResponse(
  response: ResponseMessage,
  encoding: Encoding,
  { fetchForm = false }: ResponseOptions = {},
): Buffer {
  if (!response.bare) return encodeNode(writeResponse(response), encoding)
  const [item] = response.items
  if (encoding !== 'json' || item?.operation === undefined || item.status !== 'Success')
    throw new KmipEncodeError('A bare answer is a success in JSON.')
  const encodeBare = fetchForm ? encodeJsonForFetch : encodeJsonAs
  return Buffer.from(encodeBare(`${item.operation}Response`, payloadNode(response.version, item)))
}

/** Writes a node in an encoding. */
export function encodeNode(node: TtlvNode, encoding: Encoding): Buffer {
  if (encoding === 'ttlv') return encodeTtlv(node)
  return Buffer.from(encoding === 'json' ? encodeJson(node) : encodeXml(node))
}

/** Reads a node in an encoding. @throws KmipDecodeError */
export function decodeNode(bytes: Uint8Array, encoding: Encoding, limits: MessageLimits = {}): TtlvNode {
  if (encoding === 'ttlv') return decodeTtlv(bytes, limits)
  return encoding === 'json' ? decodeJson(bytes, limits) : decodeXml(bytes, limits)
}

/**
 * The answer to a request that could not be read: one failed item without operation (KMIP 2.1 §8.6), in the client's
 * version where it is spoken, else in 1.0, which every client can read.
 * @param now seconds since 1970
 */
export function toErrorResponse(error: KmipDecodeError, now: number): ResponseMessage {
  const version = error.version && kmipVersion(error.version.major, error.version.minor)
  return {
    version: version ?? nearestVersion(error.version?.major),
    bare: false,
    timeStamp: now,
    items: [
      {
        operation: undefined,
        status: 'OperationFailed',
        reason: messageReasons[error.reason] ?? 'InvalidMessage',
        message: error.message,
      },
    ],
  }
}

const messageReasons: Readonly<Partial<Record<KmipDecodeReason, ResultReason>>> = {
  unsupported_version: 'UnsupportedProtocolVersion',
  unknown_operation: 'OperationNotSupported',
}

function nearestVersion(major: number | undefined): KmipVersion {
  if (major === 1) return '1.4'
  return major !== undefined && major > 1 ? '2.1' : '1.0'
}
