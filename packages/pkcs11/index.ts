export type { KeyAttributes, TokenInfo } from './protocol.ts'
export { type Encrypted, openToken, type Token } from './token.ts'
