export { type Base64Url, decodeBase64Url, encodeBase64Url } from './base64url.ts'
