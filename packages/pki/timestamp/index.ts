/** Time stamps: requests, responses, and verification of tokens (RFC 3161, RFC 5816, RFC 5652). Pure. */
export { timestampRequest } from './request.ts'
export { tokenInResponse } from './token.ts'
export { type TimestampVerdict, timestampVerdict } from './verdict.ts'
