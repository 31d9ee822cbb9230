/**
 * KMIP messages, 1.0 to 2.1, in one form: what `packages/kms` works with.
 *
 * In: `decodeRequest(bytes, findEncoding(contentType), {bareVersion})` gives a RequestMessage whose payloads are in the
 * form of 2.x whatever the client speaks (`legacy.ts` has the table). An item with a `refusal` is answered with it.
 *
 * Out: `encodeResponse(response, encoding)` takes payload members in the form of 2.x and writes what the client's
 * version knows: attributes, tags, operations and object types that are newer are left out, result reasons become the
 * nearest of the version. For AddAttribute, ModifyAttribute and DeleteAttribute put the attribute into the reply as
 * NewAttribute or CurrentAttribute (and AttributeIndex): 1.x clients get it, 2.x clients do not.
 *
 * A request that cannot be read throws KmipDecodeError; `toErrorResponse(error, now)` is the answer.
 * `writeRequest` and `readResponse` are the client's side.
 */
export { readResponse, writeRequest } from './client.ts'
export {
  contentTypes,
  decodeNode,
  decodeRequest,
  encodeNode,
  encodeResponse,
  findEncoding,
  type RequestOptions,
  toErrorResponse,
} from './codec.ts'
export { fromLegacyName, legacyVendor, toLegacyAttributes } from './legacy-attributes.ts'
export { toResultReason } from './reasons.ts'
export { emptyHeader, readRequest } from './request.ts'
export { writeResponse } from './response.ts'
export { sniffedBytes, sniffVersion } from './sniff-version.ts'
export type {
  BatchErrorContinuation,
  Encoding,
  ItemFailure,
  MessageLimits,
  RequestHeader,
  RequestItem,
  RequestMessage,
  ResponseItem,
  ResponseMessage,
} from './types.ts'
