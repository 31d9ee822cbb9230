export { type Base64Url, decodeBase64Url, encodeBase64Url } from './base64url.ts'
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
  jweEncryptDirect,
  jweEncryptOaep,
  openNow,
  type SealedContent,
  sealNow,
} from './jwe-flattened.ts'
export { type DetachedJws, jwsSign, jwsVerify } from './jws-detached.ts'
export {
  type JweHeader,
  type JwsHeader,
  jweHeader,
  jwsHeader,
  readJweHeader,
  readJwsHeader,
} from './protected-header.ts'
export { checkSignature, createSignature } from './signature.ts'
