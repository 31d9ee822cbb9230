export {
  createUsedTokens,
  findToken,
  type MachineToken,
  presentedToken,
  removeExpiredTokens,
  type UsedTokens,
} from './tokens.ts'
