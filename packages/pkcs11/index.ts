export { type CurveName, keyTypes, maskGenerationFunctions, mechanisms } from './constants.ts'
export {
  type CipherMechanism,
  type KeyAttributes,
  type KeyReference,
  type KeyUse,
  type SignMechanism,
  TokenError,
  type TokenErrorCode,
  type TokenInfo,
} from './protocol.ts'
export { connectSessions, serveSessions } from './shared-sessions.ts'
export { type Encrypted, type Encryption, openToken, Token } from './token.ts'
export { type Sessions, type TokenOptions, TokenSessions } from './token-sessions.ts'
