export { type KeyAttributes, TokenError, type TokenErrorCode } from './protocol.ts'
export { type Encrypted, type Encryption, openToken, type Token } from './token.ts'
