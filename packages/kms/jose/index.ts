export { ContentKeys } from './content-keys.ts'
export {
  additionalData,
  type ContentCipher,
  type ContentOpener,
  type ContentSealer,
  contentPlan,
  type FlattenedJwe,
  jweDecryptDirect,
  jweDecryptOaep,
  jweDecryptReceived,
  jweEncryptDirect,
  jweEncryptOaep,
  jweEncryptSent,
  openNow,
  type SealedContent,
  sealNow,
} from './jwe-flattened.ts'
export { type DetachedJws, jwsSign, jwsVerify } from './jws-detached.ts'
export {
  isDirect,
  type Management,
  receiveContentKey,
  type SentKey,
  sendContentKey,
} from './key-management/content-key.ts'
export { readManagementParameters } from './key-management/parameters.ts'
export {
  type JweHeader,
  type JwsHeader,
  jweHeader,
  jwsHeader,
  readJweHeader,
  readJwsHeader,
  readUnprotected,
} from './protected-header.ts'
export { checkSignature, createSignature } from './signature.ts'
export { type Base64Url, decodeBase64Url, encodeBase64Url } from './text/base64url.ts'
