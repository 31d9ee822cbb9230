export {
  createSignature,
  getKeyAlgorithms,
  jwsAlgorithms,
  jwsAlgorithmsOnce,
  serviceAccountAlgorithms,
  verifySignature,
} from './algorithms.ts'
export {
  decodeBase64Url,
  encodeJsonSegment,
  JwtRejected,
  readCompact,
  signCompact,
} from './compact.ts'
export { publicJwk, readKeySet, thumbprint } from './jwk.ts'
export {
  createInlineKeySet,
  createRemoteKeySet,
  openFileKeySet,
  type RemoteKeySetOptions,
} from './key-sets.ts'
export { parseStrictObject } from './strict-json.ts'
export { type PeekedToken, peekToken, signToken, verifyToken } from './token.ts'
export { createTokenCache, type TokenCache } from './token-cache.ts'
export type * from './types.ts'
