export {
  algorithmsOf,
  createSignature,
  jwsAlgorithms,
  jwsAlgorithmsOnce,
  serviceAccountAlgorithms,
  verifySignature,
} from './algorithms.ts'
export {
  JwtRejected,
  jsonSegment,
  readCompact,
  signCompact,
  strictBase64Url,
} from './compact.ts'
export { keysOfSet, publicJwk, thumbprint } from './jwk.ts'
export { fileKeySet, inlineKeySet, type RemoteKeySetOptions, remoteKeySet } from './key-sets.ts'
export { parseStrictObject } from './strict-json.ts'
export { type PeekedToken, peekToken, signToken, verifyToken } from './token.ts'
export { createTokenCache, type TokenCache } from './token-cache.ts'
export type * from './types.ts'
