/** Time stamps of an authority: requests, answers, and whether a token holds (RFC 3161, RFC 5816, RFC 5652). Pure. */
export { timestampRequest } from './request.ts'
export { tokenInResponse } from './token.ts'
export { type TimestampVerdict, timestampVerdict } from './verdict.ts'
