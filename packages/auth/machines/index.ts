export { findToken, type MachineToken, presentedToken, removeExpiredTokens } from './tokens.ts'
